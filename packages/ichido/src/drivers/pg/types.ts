/**
 * What PostgreSQL sends, read without the parsers of a driver: a program may have set others for its own rows.
 */
import { IchidoError } from "../../core/contract/errors.ts";

/** The object identifier of the type, fixed for ever. */
export const bytea = 17;

type Parse = (value: never) => unknown;

export interface PgTypes {
  getTypeParser(type: number, format?: string): Parse;
}

/** `\x00ff`, or under `bytea_output = escape` text with `\\` and `\377` in it. */
export function bytesOfText(text: string): Buffer {
  if (text.startsWith(String.raw`\x`)) return Buffer.from(text.slice(2), "hex");
  const plain = text.replaceAll(/\\(?:(\d{3})|\\)/g, (_all, octal?: string) =>
    octal === undefined ? "\\" : String.fromCodePoint(Number.parseInt(octal, 8)),
  );
  return Buffer.from(plain, "latin1");
}

/** Bytes as bytes, everything else as the text that the server sent; the store reads numbers and flags from that. */
export function plainValue(type: number, text: string): unknown {
  return type === bytea ? bytesOfText(text) : text;
}

/** For queries of `pg`: no parser of the program's is asked. */
export const plainTypes: PgTypes = {
  getTypeParser: (type) => (text: string) => plainValue(type, text),
};

/** As the client reads, but for bytes, which are always bytes. */
export function typesOf(client: object): PgTypes | undefined {
  const { getTypeParser } = client as Partial<PgTypes>;
  if (typeof getTypeParser !== "function") return undefined;
  return {
    getTypeParser: (type, format) => (type === bytea ? plainTypes : (client as PgTypes)).getTypeParser(type, format),
  };
}

/** `pg` reads the bytes of such rows as if they were text, and loses some. */
export function refuseBinary(client: object): void {
  const { binary, options } = client as { readonly binary?: unknown; readonly options?: { readonly binary?: unknown } };
  if (binary !== true && options?.binary !== true) return;
  throw new IchidoError("option-invalid", "client: expected a Pool or Client of pg without binary: true");
}
