/** Values as literals of PostgreSQL, for statements that travel without values of their own. */

/** The `E` form means the same whatever `standard_conforming_strings` is. No NUL: PostgreSQL has none in texts. */
export function textLiteral(text: string): string {
  if (text.includes("\0")) throw new TypeError("a text for PostgreSQL holds no NUL");
  return `E'${text.replaceAll("\\", String.raw`\\`).replaceAll("'", "''")}'`;
}

export function bytesLiteral(bytes: Uint8Array): string {
  return `E'\\\\x${Buffer.from(bytes).toString("hex")}'::bytea`;
}
