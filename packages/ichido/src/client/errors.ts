/** Errors of the client. Outcomes of requests are values; these are mistakes in how the client is used. */
export type ClientErrorCode = "attempt-changed" | "attempt-missing" | "option-invalid" | "payload-unhashable";

export class ClientError extends Error {
  override readonly name: string = "ClientError";
  readonly code: ClientErrorCode;
  constructor(code: ClientErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}
