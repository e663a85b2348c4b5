/**
 * What was asked, as two hashes. The raw one covers the bytes as they came, the canonical one their meaning; method,
 * path, sorted query and media type are in both. A retry by the same client has the same bytes and needs the raw hash
 * alone; one that was spelt anew (other member order, other boundary) is recognised by the canonical one.
 *
 * Where only a parsed body is to be had, its canonical hash stands for both: the same as that of the equivalent JSON text.
 *
 * The body is read once per hash and never copied. What cannot be read by meaning (malformed JSON, nested too deep) is
 * compared byte by byte: a fingerprint never decides that a request is wrong.
 */
import { canonicalJson } from "./canonical-json.ts";
import { canonicalValue, NestingError } from "./canonical-value.ts";
import { RequestBodyError } from "../contract/errors.ts";
import { fieldTreeOf } from "./fields.ts";
import { canonicalForm, canonicalParsedForm } from "./form.ts";
import { lengthPrefixed } from "./length-prefix.ts";
import { type MediaType, parseMediaType } from "./media-type.ts";
import type { RequestBody, MultipartReading } from "../contract/message.ts";
import { readMultipart } from "./multipart.ts";
import type { Fingerprint } from "../contract/record.ts";
import { sha256, sha256Hex } from "./sha256.ts";
import { comparableTarget } from "./target.ts";

/** Grows with every change of what a canonical hash covers or how it is spelt. */
export const fingerprintVersion = 1;

export interface FingerprintInput {
  readonly method: string;
  /** Path and query as sent. */
  readonly target: string;
  /** The Content-Type header as sent. */
  readonly mediaType: string | undefined;
  readonly body: RequestBody;
  /** Given where a profile has one key space per principal: the same key on another operation is a mismatch there. */
  readonly operation?: string | undefined;
  readonly options: { readonly fields: readonly string[] | undefined; readonly compare: "semantic" | "bytes" };
}

export function fingerprintOf(input: FingerprintInput): Fingerprint {
  const content = contentOf(input);
  const { path, query } = comparableTarget(input.target);
  const request = [input.operation, input.method, path, query, content.mediaType?.essence];
  const [spelling, digest] = canonicalDigest(content, input.options);
  const canonical = hashCanonical([...request, spelling, digest]);
  if (content.kind === "value") return { version: fingerprintVersion, raw: canonical, canonical };
  // The boundary says how the same bytes fall into parts.
  const raw = [...request, content.mediaType?.boundary, content.kind === "none" ? undefined : content.digest];
  return { version: fingerprintVersion, raw: sha256(lengthPrefixed(["ichido-raw-1", ...raw])), canonical };
}

/** For `ichido.run`: the input as a value; `undefined` is no input. */
export function fingerprintOfInput(input: unknown, operation?: string): Fingerprint {
  const digest = input === undefined ? undefined : sha256Hex(canonicalValue(input));
  const canonical = hashCanonical([operation, "input", digest]);
  return { version: fingerprintVersion, raw: canonical, canonical };
}

function hashCanonical(parts: readonly (string | undefined)[]): Uint8Array {
  return sha256(lengthPrefixed(["ichido-canonical", String(fingerprintVersion), ...parts]));
}

type Content =
  /** An empty body is no body, whatever its media type. */
  | { readonly kind: "none"; readonly mediaType: undefined }
  | { readonly kind: "bytes"; readonly mediaType: MediaType; readonly bytes: Uint8Array; readonly digest: string }
  | ({ readonly mediaType: MediaType } & Extract<RequestBody, { readonly kind: "hashed" }>)
  | { readonly kind: "value"; readonly mediaType: MediaType; readonly value: unknown };

function contentOf({ body, mediaType: header }: FingerprintInput): Content {
  if (body.kind === "none") return { kind: "none", mediaType: undefined };
  const mediaType = parseMediaType(header);
  if (body.kind === "hashed") return { ...body, mediaType };
  const bytes = body.kind === "bytes" ? body.bytes : bytesOfParsed(body.value, mediaType);
  if (bytes === undefined) return { kind: "value", mediaType, value: (body as { readonly value: unknown }).value };
  if (bytes.byteLength === 0) return { kind: "none", mediaType: undefined };
  return { kind: "bytes", mediaType, bytes, digest: sha256Hex(bytes) };
}

/** Parsers of raw and text bodies hand the content over as it came; `undefined` stands for a real value. */
function bytesOfParsed(value: unknown, mediaType: MediaType): Uint8Array | undefined {
  if (value === undefined) return new Uint8Array();
  if (value instanceof Uint8Array) return value;
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  return typeof value === "string" && mediaType.kind !== "json" ? Buffer.from(value) : undefined;
}

/** How the body was read, and the hash of that reading. */
function canonicalDigest(
  content: Content,
  options: FingerprintInput["options"],
): readonly [reading: string, digest: string | undefined] {
  if (content.kind === "none") return ["none", undefined];
  if (content.kind === "value") return readValue(content.value, content.mediaType, options.fields);
  if (options.compare === "bytes") return ["bytes", content.digest];
  if (content.kind === "bytes" && content.mediaType.kind === "json") return jsonDigest(content, options.fields);
  const reading = readContent(content, options.fields);
  return reading === undefined ? ["bytes", content.digest] : [content.mediaType.kind, sha256Hex(reading)];
}

function jsonDigest(
  content: Extract<Content, { readonly kind: "bytes" }>,
  fields: readonly string[] | undefined,
): readonly [reading: string, digest: string] {
  const text = decodeUtf8(content.bytes);
  const reading = text === undefined ? undefined : canonicalJson(text, fields && fieldTreeOf(fields));
  if (reading === undefined) return ["bytes", content.digest];
  // Sent in the canonical spelling: the same bytes have the same hash.
  return ["json", reading === text ? content.digest : sha256Hex(reading)];
}

function readContent(
  content: Extract<Content, { readonly kind: "bytes" | "hashed" }>,
  fields: readonly string[] | undefined,
): string | undefined {
  return content.kind === "hashed"
    ? textOf(content.parts.read(fields))
    : readBytes(content.bytes, content.mediaType, fields);
}

function textOf(reading: MultipartReading): string | undefined {
  return reading.kind === "parts" ? reading.text : undefined;
}

function readBytes(bytes: Uint8Array, mediaType: MediaType, fields: readonly string[] | undefined): string | undefined {
  if (mediaType.kind === "form") return canonicalForm(bytes, fields);
  return mediaType.boundary === undefined ? undefined : textOf(readMultipart(bytes, mediaType, fields));
}

function readValue(
  value: unknown,
  mediaType: MediaType,
  fields: readonly string[] | undefined,
): readonly [reading: string, digest: string] {
  const form = mediaType.kind === "form" ? canonicalParsedForm(value, fields) : undefined;
  if (form !== undefined) return ["form", sha256Hex(form)];
  const reading = mediaType.kind === "json" ? "json" : "value";
  try {
    return [reading, sha256Hex(canonicalValue(value, fields && fieldTreeOf(fields)))];
  } catch (error) {
    if (!(error instanceof NestingError)) throw error;
    throw new RequestBodyError("request-unreadable", "The request body is nested too deep.", { cause: error });
  }
}

// A byte order mark stays in the text, where it is no JSON, as for JSON.parse.
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}
