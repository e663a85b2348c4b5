/**
 * Multipart by its parts (RFC 2046 section 5.1, RFC 7578): clients make a new boundary for every attempt, so the bytes
 * differ where the content does not. Of a part count its disposition, name, file name, media type and content, in the
 * order sent; preamble, epilogue and all other headers do not.
 */
import { isFieldNamed } from "./fields.ts";
import { lengthPrefixed } from "./length-prefix.ts";
import { parameterOf, parseMediaType } from "./media-type.ts";
import { sha256Hex } from "./sha256.ts";

/** With more parts, or longer headers in one, a body is compared byte by byte. */
export const multipartPartsMax = 1000;
export const partHeaderBytesMax = 16 * 1024;
/** RFC 2046 allows 70; some clients send more. */
const boundaryLengthMax = 200;

const carriageReturn = 0x0d;
const lineFeed = 0x0a;
const hyphen = 0x2d;

/** Undefined when the body is no well-formed multipart body, or past the bounds. */
export function canonicalMultipart(body: Uint8Array, boundary: string, fields?: readonly string[]): string | undefined {
  if (boundary === "" || boundary.length > boundaryLengthMax) return undefined;
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const parts = partsOf(bytes, Buffer.from(`--${boundary}`, "latin1"));
  if (parts === undefined) return undefined;
  const wanted = fields?.map((field) => Buffer.from(field).toString("latin1"));
  const texts: string[] = [];
  for (const part of parts) {
    const text = spellPart(part, wanted);
    if (text === undefined) return undefined;
    texts.push(text);
  }
  return lengthPrefixed(texts);
}

interface Delimiter {
  /** Where the content before it ends: the line break in front belongs to the delimiter. */
  readonly contentEnd: number;
  /** Where the next part begins. */
  readonly next: number;
  readonly isLast: boolean;
}

function partsOf(bytes: Buffer, dashBoundary: Buffer): Buffer[] | undefined {
  const parts: Buffer[] = [];
  let delimiter = findDelimiter(bytes, dashBoundary, 0);
  while (delimiter !== undefined && !delimiter.isLast) {
    if (parts.length === multipartPartsMax) return undefined;
    const start = delimiter.next;
    delimiter = findDelimiter(bytes, dashBoundary, start);
    if (delimiter !== undefined) parts.push(bytes.subarray(start, Math.max(start, delimiter.contentEnd)));
  }
  return delimiter === undefined ? undefined : parts;
}

/** A delimiter stands at the beginning of a line and has nothing but white space behind it. */
function findDelimiter(bytes: Buffer, dashBoundary: Buffer, from: number): Delimiter | undefined {
  for (let at = bytes.indexOf(dashBoundary, from); at >= 0; at = bytes.indexOf(dashBoundary, at + 1)) {
    const beginsLine = at === 0 || at === from || (bytes[at - 1] === lineFeed && bytes[at - 2] === carriageReturn);
    if (!beginsLine) continue;
    let end = at + dashBoundary.length;
    const isLast = bytes[end] === hyphen && bytes[end + 1] === hyphen;
    if (isLast) end += 2;
    while (bytes[end] === 0x20 || bytes[end] === 0x09) end += 1;
    const isLineEnd = bytes[end] === carriageReturn && bytes[end + 1] === lineFeed;
    if (isLineEnd || (isLast && end === bytes.length)) return { contentEnd: at - 2, next: end + 2, isLast };
  }
  return undefined;
}

/** Undefined when the part is malformed; an empty text when it does not count. */
function spellPart(part: Buffer, fields: readonly string[] | undefined): string | undefined {
  const headerEnd = part[0] === carriageReturn && part[1] === lineFeed ? 0 : part.indexOf("\r\n\r\n") + 2;
  if (headerEnd === 1 || headerEnd > partHeaderBytesMax) return undefined;
  const headers = part.toString("latin1", 0, headerEnd).replace(/\r\n[ \t]+/g, " ");
  const disposition = headerOf(headers, "content-disposition");
  const parameters = disposition?.indexOf(";") ?? -1;
  const parameter = (name: string): string | undefined =>
    disposition === undefined || parameters < 0 ? undefined : parameterOf(disposition, parameters, name);
  const name = parameter("name");
  if (fields !== undefined && (name === undefined || !isFieldNamed(name, fields))) return "";
  return lengthPrefixed([
    parseMediaType(disposition).essence,
    name,
    parameter("filename"),
    parameter("filename*"),
    parseMediaType(headerOf(headers, "content-type")).essence,
    sha256Hex(part.subarray(headerEnd + 2)),
  ]);
}

function headerOf(headers: string, name: string): string | undefined {
  for (const line of headers.split("\r\n")) {
    const colon = line.indexOf(":");
    if (colon > 0 && line.slice(0, colon).trim().toLowerCase() === name) return line.slice(colon + 1).trim();
  }
  return undefined;
}
