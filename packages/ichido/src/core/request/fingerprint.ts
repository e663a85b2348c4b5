/**
 * What was asked, as two hashes. The raw hash covers the bytes as they were sent, the canonical hash their meaning;
 * both contain method, path, sorted query and media type. A retry by the same client has the same bytes and needs only
 * the raw hash. A retry that was serialised again (other member order, other boundary) is recognised by the canonical
 * hash.
 *
 * Where the adapter has only a parsed body, its canonical hash is used for both: it equals that of the equivalent JSON
 * text.
 *
 * The body is read once per hash and never copied. A body whose meaning cannot be read (malformed JSON, nested too
 * deep) is compared byte by byte: a fingerprint never decides that a request is wrong.
 */
import { canonicalJson, fieldTreeOf } from "./canonical-json.ts";
import { canonicalValue, NestingError } from "./canonical-value.ts";
import { RequestBodyError } from "../contract/errors.ts";
import { canonicalForm, canonicalParsedForm } from "./form.ts";
import { type MediaType, parseMediaType } from "./media-type.ts";
import type { RequestBody, MultipartReading } from "../contract/message.ts";
import { readMultipart } from "./multipart.ts";
import type { Fingerprint } from "../contract/record.ts";
import { lengthPrefixed, sha256, sha256Hex } from "./sha256.ts";

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
  const asked = askedText(input, content.mediaType?.essence);
  if (content.kind === "bytes") return new BytesFingerprint(asked, content, input.options);
  const canonical = canonicalOf(asked, content, input.options);
  if (content.kind === "value") return { version: fingerprintVersion, raw: canonical, canonical };
  return { version: fingerprintVersion, raw: rawOf(asked, content), canonical };
}

/**
 * Of bytes. What they mean is read when it is asked for: a retry with the same bytes is known by its raw hash. The bytes
 * are the handler's too, so it must have been asked for, if ever, before the handler runs.
 */
class BytesFingerprint implements Fingerprint {
  readonly version = fingerprintVersion;
  readonly raw: Uint8Array;
  readonly #asked: string;
  readonly #options: FingerprintInput["options"];
  #content: Extract<Content, { readonly kind: "bytes" }> | undefined;
  #canonical: Uint8Array | undefined;

  constructor(
    asked: string,
    content: Extract<Content, { readonly kind: "bytes" }>,
    options: FingerprintInput["options"],
  ) {
    this.raw = rawOf(asked, content);
    this.#asked = asked;
    this.#content = content;
    this.#options = options;
  }

  get canonical(): Uint8Array {
    if (this.#content !== undefined) {
      this.#canonical = canonicalOf(this.#asked, this.#content, this.#options);
      this.#content = undefined;
    }
    return this.#canonical as Uint8Array;
  }
}

interface AskedText {
  readonly method: string;
  readonly operation: string | undefined;
  readonly essence: string | undefined;
  readonly text: string;
}

const askedTexts = new Map<string, AskedText>();
const askedTextsMax = 1_000;

/** What both hashes contain beside the body. Cached: most requests go to few targets, and joining texts is dear. */
function askedText({ operation, method, target }: FingerprintInput, essence: string | undefined): string {
  const known = askedTexts.get(target);
  if (known?.method === method && known.operation === operation && known.essence === essence) return known.text;
  const { path, query } = comparableTarget(target);
  const text = lengthPrefixed([operation, method, path, query, essence]);
  if (askedTexts.size >= askedTextsMax) askedTexts.clear();
  if (target.length <= askedTargetLengthMax) askedTexts.set(target, { method, operation, essence, text });
  return text;
}

const askedTargetLengthMax = 500;

const rawHead = lengthPrefixed(["ichido-raw-1"]);

/** The boundary says how the same bytes fall into parts. */
function rawOf(asked: string, content: Exclude<Content, { readonly kind: "value" }>): Uint8Array {
  const digest = content.kind === "none" ? undefined : content.digest;
  return sha256(rawHead + asked + lengthPrefixed([content.mediaType?.boundary, digest]));
}

function canonicalOf(asked: string, content: Content, options: FingerprintInput["options"]): Uint8Array {
  const [spelling, digest] = canonicalDigest(content, options);
  return sha256(canonicalHead + asked + lengthPrefixed([spelling, digest]));
}

/** For `ichido.run`: the input as a value; `undefined` is no input. */
export function fingerprintOfInput(input: unknown, operation?: string): Fingerprint {
  const digest = input === undefined ? undefined : sha256Hex(canonicalValue(input));
  const canonical = sha256(canonicalHead + lengthPrefixed([operation, "input", digest]));
  return { version: fingerprintVersion, raw: canonical, canonical };
}

const canonicalHead = lengthPrefixed(["ichido-canonical", String(fingerprintVersion)]);

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

/** Parsers of raw and text bodies pass the content on unchanged. `undefined`: a parser has made a value from it. */
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

// A byte order mark stays in the text and makes it no JSON, as for JSON.parse.
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

/**
 * A request target as it is compared. Equal are targets that RFC 3986 calls equivalent whatever the scheme (section
 * 6.2.2.1 and 6.2.2.2: the case of %-escapes, and escapes of letters, digits, - . _ ~, which proxies and clients
 * rewrite at will), and those that differ in the order of differently named query parameters only. Everything else is
 * as sent: `+` is not `%20`, `a` is not `a=`, and parameters of the same name stay in order, since handlers can tell
 * these apart.
 */
export interface ComparableTarget {
  readonly path: string;
  readonly query: string;
}

export function comparableTarget(target: string): ComparableTarget {
  const origin = target.startsWith("/") ? target : withoutOrigin(target);
  const text = origin.includes("%") ? origin.replace(/%[0-9a-f]{2}/gi, normaliseEscape) : origin;
  const mark = text.indexOf("?");
  if (mark < 0) return { path: text, query: "" };
  return { path: text.slice(0, mark), query: sortQuery(text.slice(mark + 1)) };
}

/** RFC 9112 section 3.2.2: a server treats the absolute form, which clients send to proxies, as the same target. */
function withoutOrigin(target: string): string {
  const path = target.replace(/^https?:\/\/[^/?#]*/i, "");
  return path.startsWith("/") || path === target ? path : `/${path}`;
}

function normaliseEscape(escape: string): string {
  const character = String.fromCharCode(Number.parseInt(escape.slice(1), 16));
  return /[\w.~-]/.test(character) ? character : escape.toUpperCase();
}

function sortQuery(query: string): string {
  const pairs = query.split("&").filter((pair) => pair !== "");
  if (pairs.length < 2) return pairs.join("");
  return pairs
    .map((pair) => ({ pair, name: nameOf(pair) }))
    .sort((a, b) => (a.name === b.name ? 0 : a.name < b.name ? -1 : 1))
    .map(({ pair }) => pair)
    .join("&");
}

function nameOf(pair: string): string {
  const equals = pair.indexOf("=");
  return equals < 0 ? pair : pair.slice(0, equals);
}
