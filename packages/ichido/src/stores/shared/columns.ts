/** Drivers differ: 64-bit numbers come as number, text or bigint, texts of binary columns as bytes. */
type Row = Readonly<Record<string, unknown>>;

const decoder = new TextDecoder();

export function numberOf(row: Row, name: string): number {
  const value = Number(row[name]);
  if (!Number.isSafeInteger(value))
    throw new TypeError(`column ${name} holds ${String(row[name])}, not a whole number`);
  return value;
}

export function optionalNumber(row: Row, name: string): number | undefined {
  return row[name] === null || row[name] === undefined ? undefined : numberOf(row, name);
}

export function textOf(row: Row, name: string): string {
  const value = row[name];
  if (typeof value === "string") return value;
  if (value instanceof Uint8Array) return decoder.decode(value);
  throw new TypeError(`column ${name} holds no text`);
}

export function optionalText(row: Row, name: string): string | undefined {
  return row[name] === null || row[name] === undefined ? undefined : textOf(row, name);
}

export function bytesOf(row: Row, name: string): Uint8Array {
  const value = row[name];
  if (value instanceof Uint8Array) return value;
  throw new TypeError(`column ${name} holds no bytes`);
}

export function optionalBytes(row: Row, name: string): Uint8Array | undefined {
  return row[name] === null || row[name] === undefined ? undefined : bytesOf(row, name);
}
