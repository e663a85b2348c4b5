/** Values as literals of PostgreSQL, for statements that travel without values of their own. */

/** The `E` form means the same whatever `standard_conforming_strings` is. No NUL: PostgreSQL has none in texts. */
export function textLiteral(text: string): string {
  if (text.includes("\0")) throw new TypeError("a text for PostgreSQL holds no NUL");
  return `E'${text.replaceAll("\\", String.raw`\\`).replaceAll("'", "''")}'`;
}

export function bytesLiteral(bytes: Uint8Array): string {
  return `E'\\\\x${Buffer.from(bytes).toString("hex")}'::bytea`;
}

function literalOf(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (typeof value === "string") return textLiteral(value);
  if (value instanceof Uint8Array) return bytesLiteral(value);
  if (typeof value === "number" && Number.isSafeInteger(value)) return `(${value})`;
  if (typeof value === "bigint") return `(${value})`;
  if (typeof value === "boolean") return value ? "true" : "false";
  throw new TypeError(`no literal is known for a value of type ${typeof value}`);
}

/** A statement of ours with its values in the text. Its own text holds no `$1` but as a place for a value. */
export function inLine({ sql, values }: { readonly sql: string; readonly values: readonly unknown[] }): string {
  return sql.replace(/\$(\d+)/g, (_, place: string) => literalOf(values[Number(place) - 1]));
}
