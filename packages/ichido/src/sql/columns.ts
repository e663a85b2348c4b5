/** Drivers differ: 64-bit numbers come as number, text or bigint, texts of binary columns as bytes. */
import { columnOf } from "../drivers/row.ts";

type Row = Readonly<Record<string, unknown>>;

const decoder = new TextDecoder();

export function numberOf(row: Row, name: string): number {
  const found = columnOf(row, name);
  const value = found === null || found === "" ? Number.NaN : Number(found);
  if (!Number.isSafeInteger(value)) throw new TypeError(`column ${name} holds ${String(found)}, not a whole number`);
  return value;
}

export function optionalNumber(row: Row, name: string): number | undefined {
  return isAbsent(row, name) ? undefined : numberOf(row, name);
}

export function textOf(row: Row, name: string): string {
  const value = columnOf(row, name);
  if (typeof value === "string") return value;
  if (value instanceof Uint8Array) return decoder.decode(value);
  throw new TypeError(`column ${name} holds no text`);
}

export function optionalText(row: Row, name: string): string | undefined {
  return isAbsent(row, name) ? undefined : textOf(row, name);
}

export function bytesOf(row: Row, name: string): Uint8Array {
  const value = columnOf(row, name);
  if (value instanceof Uint8Array) return value;
  throw new TypeError(`column ${name} holds no bytes`);
}

export function optionalBytes(row: Row, name: string): Uint8Array | undefined {
  return isAbsent(row, name) ? undefined : bytesOf(row, name);
}

function isAbsent(row: Row, name: string): boolean {
  const value = columnOf(row, name);
  return value === null || value === undefined;
}
