/** How much of a request body is taken, before anything is claimed. */
import { IchidoError, RequestBodyError } from "../core/errors.ts";

export interface BodyOptions {
  /** Larger request bodies are refused with 413 before anything is claimed. Default 10 MiB. */
  readonly requestBytesMax?: number;
  /**
   * The same for multipart bodies, which are hashed as they arrive and wait for their handler in a temporary file, so that
   * large ones cost no memory. Default: `requestBytesMax`.
   */
  readonly uploadBytesMax?: number;
}

export type BodyLimits = Required<BodyOptions>;

export const requestBytesMaxDefault = 10 * 1_048_576;

export function positive(option: string, value: number): number {
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new IchidoError("option-invalid", `option ${option}: expected a positive integer, got ${String(value)}`);
}

export function bodyLimitsOf(options: BodyOptions): BodyLimits {
  const requestBytesMax = positive("requestBytesMax", options.requestBytesMax ?? requestBytesMaxDefault);
  return { requestBytesMax, uploadBytesMax: positive("uploadBytesMax", options.uploadBytesMax ?? requestBytesMax) };
}

export function tooLarge(bytesMax: number): RequestBodyError {
  return new RequestBodyError("request-too-large", `The request body is larger than ${bytesMax} bytes.`);
}

export function notInFull(cause?: unknown): RequestBodyError {
  const message = "The request body did not arrive in full. Send it again.";
  return new RequestBodyError("request-unreadable", message, cause === undefined ? {} : { cause });
}
