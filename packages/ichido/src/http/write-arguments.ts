/** The argument forms and errors of Node's `write` and `end`, for a capture that stands in for them. */

export type Callback = (error?: Error | null) => void;

export function callbackOf(values: readonly unknown[]): Callback | undefined {
  const found = values.find((value) => typeof value === "function");
  return found as Callback | undefined;
}

function coded(error: Error, code: string): Error {
  return Object.assign(error, { code });
}

/**
 * `copy`: the caller may reuse its buffer as soon as its callback was called, which is before the bytes are sent. Without
 * a callback it never learns when it may, so it may not.
 */
export function chunkBytes(chunk: unknown, encoding: unknown, ownership: "copy" | "keep"): Uint8Array {
  if (typeof chunk === "string") {
    return Buffer.from(chunk, typeof encoding === "string" ? (encoding as BufferEncoding) : "utf8");
  }
  if (chunk instanceof Uint8Array) return ownership === "copy" ? Buffer.from(chunk) : chunk;
  if (chunk === null) throw coded(new TypeError("May not write null values to stream"), "ERR_STREAM_NULL_VALUES");
  const message = `The "chunk" argument must be a string, Buffer or Uint8Array, got ${typeof chunk}`;
  throw coded(new TypeError(message), "ERR_INVALID_ARG_TYPE");
}

export function headersSent(): Error {
  return coded(new Error("Cannot write headers after they are sent to the client"), "ERR_HTTP_HEADERS_SENT");
}

export function checkStatus(given: unknown): number {
  const status = Number(given) | 0;
  if (status >= 100 && status <= 999) return status;
  throw coded(new RangeError(`Invalid status code: ${String(given)}`), "ERR_HTTP_INVALID_STATUS_CODE");
}

// oxlint-disable-next-line no-control-regex -- controls are exactly what is excluded
const reasonForm = /^[\t\x20-\x7e\x80-\xff]*$/;

export function checkReason(reason: string | undefined): void {
  if (reason === undefined || reasonForm.test(reason)) return;
  throw coded(new TypeError("Invalid character in statusMessage"), "ERR_INVALID_CHAR");
}

export function writeAfterEnd(): Error {
  return coded(new Error("write after end"), "ERR_STREAM_WRITE_AFTER_END");
}
