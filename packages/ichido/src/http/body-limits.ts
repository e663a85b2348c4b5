/** How many bytes of a request body the server accepts. The bound is checked before any key is claimed. */
import { integerOption, knownOptions, type OptionNames } from "../core/contract/option-checks.ts";
import { RequestBodyError } from "../core/contract/errors.ts";

export interface BodyOptions {
  /** Larger request bodies are refused with 413 before the key is claimed. Default 10 MiB. */
  readonly requestBytesMax?: number;
  /**
   * The same for multipart bodies, which are hashed as they arrive and wait in a temporary file until the handler reads
   * them. So large ones cost no memory. Default: `requestBytesMax`.
   */
  readonly uploadBytesMax?: number;
}

export type BodyLimits = Required<BodyOptions>;

export const requestBytesMaxDefault = 10 * 1_048_576;

export const bodyNames: OptionNames<BodyOptions> = { requestBytesMax: true, uploadBytesMax: true };

export function positiveOption(option: string, value: unknown): number {
  return integerOption(option, value, 1, Number.MAX_SAFE_INTEGER);
}

export function bodyLimitsOf(options: BodyOptions): BodyLimits {
  const requestBytesMax = positiveOption("requestBytesMax", options.requestBytesMax ?? requestBytesMaxDefault);
  const uploadBytesMax = positiveOption("uploadBytesMax", options.uploadBytesMax ?? requestBytesMax);
  return { requestBytesMax, uploadBytesMax };
}

/** The limits from the options of `captureBody`. */
export function captureLimitsOf(options: BodyOptions): BodyLimits {
  knownOptions("captureBody", options, bodyNames);
  return bodyLimitsOf(options);
}

export function tooLarge(bytesMax: number): RequestBodyError {
  return new RequestBodyError("request-too-large", `The request body is larger than ${bytesMax} bytes.`);
}

export function notInFull(cause?: unknown): RequestBodyError {
  const message = "The request body did not arrive in full. Send it again.";
  return new RequestBodyError("request-unreadable", message, cause === undefined ? {} : { cause });
}
