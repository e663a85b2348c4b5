/**
 * Multipart by its parts (RFC 2046 section 5.1, RFC 7578): clients make a new boundary for every attempt, so the bytes
 * differ where the content does not. Of a part count its disposition, name, file name, media type and content, in the
 * order sent; preamble, epilogue and all other headers do not.
 */
import { isFieldNamed } from "./fields.ts";
import { lengthPrefixed } from "./length-prefix.ts";
import { parametersOf, parseMediaType } from "./media-type.ts";
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
  const parts = partsOf(bytes, boundary);
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
  readonly start: number;
  /** Where the content behind it begins. */
  readonly end: number;
  readonly isLast: boolean;
}

function partsOf(bytes: Buffer, boundary: string): Buffer[] | undefined {
  const lineBreakAndBoundary = Buffer.from(`\r\n--${boundary}`, "latin1");
  const isAtStart = bytes.indexOf(lineBreakAndBoundary.subarray(2)) === 0;
  const parts: Buffer[] = [];
  let delimiter = isAtStart ? delimiterAt(bytes, -2, lineBreakAndBoundary.length) : undefined;
  delimiter ??= findDelimiter(bytes, lineBreakAndBoundary, 0);
  while (delimiter !== undefined && !delimiter.isLast) {
    if (parts.length === multipartPartsMax) return undefined;
    const start = delimiter.end;
    delimiter = findDelimiter(bytes, lineBreakAndBoundary, start);
    if (delimiter !== undefined) parts.push(bytes.subarray(start, delimiter.start));
  }
  return delimiter === undefined ? undefined : parts;
}

function findDelimiter(bytes: Buffer, lineBreakAndBoundary: Buffer, from: number): Delimiter | undefined {
  let at = bytes.indexOf(lineBreakAndBoundary, from);
  while (at >= 0) {
    const delimiter = delimiterAt(bytes, at, lineBreakAndBoundary.length);
    if (delimiter !== undefined) return delimiter;
    at = bytes.indexOf(lineBreakAndBoundary, at + 1);
  }
  return undefined;
}

/** A delimiter has a line to itself; behind the boundary may stand white space, and two hyphens if it is the last. */
function delimiterAt(bytes: Buffer, start: number, length: number): Delimiter | undefined {
  let end = start + length;
  const isLast = bytes[end] === hyphen && bytes[end + 1] === hyphen;
  if (isLast) end += 2;
  while (bytes[end] === 0x20 || bytes[end] === 0x09) end += 1;
  const isLineEnd = bytes[end] === carriageReturn && bytes[end + 1] === lineFeed;
  return isLineEnd || (isLast && end === bytes.length) ? { start, end: end + 2, isLast } : undefined;
}

/** Undefined when the part is malformed; an empty text when it does not count. */
function spellPart(part: Buffer, fields: readonly string[] | undefined): string | undefined {
  const headerEnd = part[0] === carriageReturn && part[1] === lineFeed ? 0 : part.indexOf("\r\n\r\n") + 2;
  if (headerEnd === 1 || headerEnd > partHeaderBytesMax) return undefined;
  const headers = headersOf(part.toString("latin1", 0, headerEnd));
  const disposition = headers?.get("content-disposition") ?? "";
  const parameters = parametersOf(disposition);
  if (headers === undefined || parameters === undefined) return undefined;
  const name = parameters.get("name");
  if (fields !== undefined && (name === undefined || !isFieldNamed(name, fields))) return "";
  return lengthPrefixed([
    parseMediaType(disposition).essence,
    name,
    parameters.get("filename"),
    parameters.get("filename*"),
    parseMediaType(headers.get("content-type")).essence,
    sha256Hex(part.subarray(headerEnd + 2)),
  ]);
}

/** Undefined when a line is no header, or a header is repeated: parsers differ in what they make of these. */
function headersOf(text: string): ReadonlyMap<string, string> | undefined {
  const headers = new Map<string, string>();
  const unfolded = text.replace(/\r\n[ \t]+/g, " ");
  for (const line of unfolded.split("\r\n")) {
    if (line === "") continue;
    const colon = line.indexOf(":");
    const name = line.slice(0, Math.max(0, colon)).trim().toLowerCase();
    if (name === "" || headers.has(name)) return undefined;
    headers.set(name, line.slice(colon + 1).trim());
  }
  return headers;
}
