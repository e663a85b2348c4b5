/** Replies → values. Numbers travel as text, written with `%.0f`, because Lua's own would lose digits. */

export function listOf(reply: unknown): readonly unknown[] {
  if (Array.isArray(reply)) return reply;
  throw new TypeError(`expected a list from Redis, got ${typeof reply}`);
}

export function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (Buffer.isBuffer(value)) return value.toString("utf8");
  if (value instanceof Uint8Array)
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("utf8");
  if (typeof value === "number") return String(value);
  throw new TypeError(`expected text from Redis, got ${value === null ? "null" : typeof value}`);
}

export function optionalTextOf(value: unknown): string | undefined {
  return value === null || value === undefined ? undefined : textOf(value);
}

export function numberOf(value: unknown): number {
  // An empty text would be zero.
  const number = typeof value === "number" ? value : Number(textOf(value) || Number.NaN);
  if (!Number.isSafeInteger(number)) throw new TypeError("expected an integer from Redis");
  return number;
}

/** A plain array of its own: the driver's buffer is a window on a chunk that holds much else. */
export function bytesOf(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return new Uint8Array(value);
  if (value === null || value === undefined) return new Uint8Array(0);
  throw new TypeError(`expected bytes from Redis, got ${typeof value}`);
}

/** The same bytes, as both drivers take them. */
export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
