/**
 * Array literals of PostgreSQL, written here because the drivers differ in how they guess an element's type. Every element
 * is quoted: an unquoted NULL is the only null.
 */
import { bufferOf } from "../../sql/statement.ts";

export function textArray(texts: readonly (string | null)[]): string {
  return `{${texts.map((text) => (text === null ? "NULL" : `"${text.replace(/["\\]/g, "\\$&")}"`)).join(",")}}`;
}

export function numberArray(numbers: readonly (number | null)[]): string {
  return `{${numbers.map((number) => number ?? "NULL").join(",")}}`;
}

/** For short values; long ones travel as one binary parameter. */
export function bytesArray(values: readonly (Uint8Array | null | undefined)[]): string {
  const elements = values.map((bytes) => (bytes === null || bytes === undefined ? "NULL" : `"\\\\x${hexOf(bytes)}"`));
  return `{${elements.join(",")}}`;
}

/** Hashes go through one buffer: a view made for each of them costs more than the digits. */
const scratch = Buffer.alloc(64);

function hexOf(bytes: Uint8Array): string {
  if (bytes.length > scratch.length) return bufferOf(bytes).toString("hex");
  scratch.set(bytes);
  return scratch.toString("hex", 0, bytes.length);
}
