/**
 * Array literals of PostgreSQL, written here because the drivers differ in how they guess an element's type. Every element
 * is quoted: an unquoted NULL is the only null.
 */
export function textArray(texts: readonly (string | null)[]): string {
  return `{${texts.map((text) => (text === null ? "NULL" : `"${text.replace(/["\\]/g, "\\$&")}"`)).join(",")}}`;
}

export function numberArray(numbers: readonly number[]): string {
  return `{${numbers.join(",")}}`;
}

/** For short values; long ones travel as one binary parameter. */
export function bytesArray(values: readonly (Uint8Array | null | undefined)[]): string {
  const elements = values.map((bytes) =>
    bytes === null || bytes === undefined ? "NULL" : `"\\\\x${bufferOf(bytes).toString("hex")}"`,
  );
  return `{${elements.join(",")}}`;
}

/** The same bytes, not a copy. */
export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
