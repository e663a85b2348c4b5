/**
 * Node's request as the core sees it. Its body is noted beside the stream as it arrives: the parser or handler reads
 * the request as usual, and where neither reads it, this file pulls it in. Multipart bodies are hashed, all others are
 * kept, still content-coded.
 */
import type { IncomingMessage } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import { RequestBodyError } from "../core/contract/errors.ts";
import type { NeutralRequest, RequestBody } from "../core/contract/message.ts";
import { parseMediaType } from "../core/request/media-type.ts";
import { notInFull, tooLarge, type BodyLimits } from "./body-limits.ts";
import { codingsOf, decodeContent } from "./content-coding.ts";
import { createUploadDetour, type UploadDetour } from "./upload-detour.ts";
import { uploadHashFor, type UploadHash } from "./upload-hash.ts";

/** Frameworks on Node add these to the message. */
export type NodeRequest = IncomingMessage & { readonly originalUrl?: string; body?: unknown };

/** Through the compatibility layer of `node:http2`. */
export function isHttp2(request: IncomingMessage): boolean {
  return request.httpVersionMajor >= 2;
}

/** HTTP/2 frames bodies by itself: a body needs neither `Content-Length` nor `Transfer-Encoding`. */
function endsWithHead(request: IncomingMessage): boolean {
  return (request as unknown as Http2ServerRequest).stream.endAfterHeaders;
}

/**
 * On HTTP/2 a body that was cut off ends like a complete one, and `complete` is true for both: only `aborted` differs.
 */
function isAborted(request: IncomingMessage): boolean {
  return isHttp2(request) && (request as unknown as Http2ServerRequest).aborted;
}

/** Nothing more will come. On HTTP/2 an empty body ends by itself, and `complete` says so only after somebody read that. */
function isWhole(request: IncomingMessage): boolean {
  if (request.complete) return true;
  return isHttp2(request) && (request as unknown as Http2ServerRequest).stream.readableEnded;
}

/** Header lines as they came: Node's own `headers` joins or drops repeated ones. */
function linesOf(request: IncomingMessage, name: string): readonly string[] {
  const lines: string[] = [];
  const { rawHeaders } = request;
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const given = rawHeaders[index] ?? "";
    if (given.length === name.length && given.toLowerCase() === name) lines.push(rawHeaders[index + 1] ?? "");
  }
  return lines;
}

function hasContent(request: IncomingMessage): boolean {
  if (isHttp2(request)) return !endsWithHead(request);
  if (request.headers["transfer-encoding"] === undefined) return Number(request.headers["content-length"] ?? 0) > 0;
  // Chunked framing of nothing at all: empty is absent.
  return request.readableDidRead || !request.readableEnded;
}

function bytesBody(bytes: Uint8Array): RequestBody {
  return bytes.length === 0 ? { kind: "none" } : { kind: "bytes", bytes };
}

/** A parser ran before us and kept no bytes: the handler, too, sees only the parsed value. */
function parsedBody(request: NodeRequest): RequestBody {
  const { body } = request;
  if (body instanceof Uint8Array) return bytesBody(body);
  if (typeof body === "string") return bytesBody(Buffer.from(body));
  const isMultipart = /^multipart\//i.test(request.headers["content-type"] ?? "");
  if (body === undefined || isMultipart) {
    const why = isMultipart
      ? "The parsed body of a multipart request does not show its files"
      : "The request body was read before ichido could see it";
    throw new RequestBodyError(
      "body-unavailable",
      `${why}. Mount captureBody() before whatever reads the body, so that its bytes can be compared.`,
    );
  }
  return { kind: "parsed", value: body };
}

type ArrivedBody = Exclude<RequestBody, { readonly kind: "parsed" }>;

/** At once where the body is here and as it was sent. */
function bodyOf(request: NodeRequest, limits: BodyLimits): RequestBody | Promise<RequestBody> {
  if (!hasContent(request)) return { kind: "none" };
  if (!request.complete && request.destroyed) throw notInFull();
  const capture = capturedBytes(request) ?? captureBytes(request, limits);
  if (capture === undefined && isAborted(request)) throw notInFull();
  if (capture === undefined) return parsedBody(request);
  const body = capture.all();
  return "then" in body
    ? body.then((arrived) => decoded(request, capture, arrived, limits))
    : decoded(request, capture, body, limits);
}

function decoded(
  request: NodeRequest,
  capture: RequestBytes,
  body: ArrivedBody,
  limits: BodyLimits,
): RequestBody | Promise<RequestBody> {
  if (body.kind !== "bytes") return body;
  // As sent, like the bytes: a layer that inflates the body for the handler may take the header out of `headers`.
  const coded = linesOf(request, "content-encoding");
  if (coded.length === 0 || capture.isDecoded === true) return bytesBody(body.bytes);
  // The bound holds as sent, and again as decoded.
  return decodeContent(body.bytes, codingsOf(coded), limits.requestBytesMax).then(bytesBody);
}

/** Node's request as the core sees it. `native` is the framework's own. */
export class NodeNeutralRequest<Native> implements NeutralRequest<Native> {
  readonly native: Native;
  readonly #request: NodeRequest;
  readonly #limits: BodyLimits;

  constructor(request: NodeRequest, limits: BodyLimits, native: Native) {
    this.native = native;
    this.#request = request;
    this.#limits = limits;
  }

  get method(): string {
    return this.#request.method ?? "GET";
  }

  get target(): string {
    return this.#request.originalUrl ?? this.#request.url ?? "/";
  }

  headerLines(name: string): readonly string[] {
    return linesOf(this.#request, name);
  }

  body(): RequestBody | Promise<RequestBody> {
    return bodyOf(this.#request, this.#limits);
  }
}

export interface RequestBytes {
  /** The whole body, once it has arrived. Fails when it is too large, or when the client stops before the end. */
  all(): ArrivedBody | Promise<ArrivedBody>;
  /** They are the content itself, whatever codings it was sent with. */
  readonly isDecoded?: boolean;
  /** The answer is out: what was kept for a handler that has not begun to read can go. */
  letGo?(): void;
}

/** On the request itself: a weak map with an entry for every request would keep the garbage collector busy. */
const captured = Symbol("ichido.capturedBytes");
type CapturedRequest = IncomingMessage & { [captured]?: RequestBytes };

export function capturedBytes(request: CapturedRequest): RequestBytes | undefined {
  return request[captured];
}

/** For a framework that keeps the bytes itself, without codings. What was noted as it arrived stays. */
export function noteBytes(request: CapturedRequest, bytes: Uint8Array): void {
  request[captured] ??= { all: () => ({ kind: "bytes", bytes }), isDecoded: true };
}

/** Starts to note the bytes; a second call returns the first capture. Undefined when the body was read before. */
export function captureBytes(request: CapturedRequest, limits: BodyLimits): RequestBytes | undefined {
  const former = request[captured];
  if (former !== undefined) return former;
  if (!isUnread(request)) return undefined;
  const { headers } = request;
  const mediaType = parseMediaType(headers["content-type"]);
  const isMultipart = mediaType.kind === "multipart";
  const hash = isMultipart ? uploadHashFor(mediaType, [headers["content-encoding"] ?? ""]) : undefined;
  return hash === undefined
    ? new KeptBytes(request, limits.requestBytesMax)
    : new HashedUpload(request, hash, limits.uploadBytesMax);
}

/** How long a client may take to send the body; Node's own `requestTimeout` is the same. */
const requestMsMax = 300_000;

/** Parts of Node's message that its types leave out. */
type Internals = IncomingMessage & { _consuming?: boolean };

/** No reader has taken anything from the stream yet. */
function isUnread(request: IncomingMessage): boolean {
  return !request.readableDidRead && !request.readableEnded && request.readableFlowing !== true && !request.destroyed;
}

/** Bytes that arrived before the capture was mounted are in the stream's buffer: read, and put back at once. */
function buffered(request: Internals): Uint8Array | undefined {
  if (request.readableLength === 0) return undefined;
  const consuming = request._consuming;
  const chunk = request.read(request.readableLength) as Buffer | string | null;
  if (chunk === null) return undefined;
  request.unshift(chunk);
  // Node throws away an unread body after the answer; this read must not count as reading.
  if (consuming !== undefined) request._consuming = consuming;
  return typeof chunk === "string" ? Buffer.from(chunk, request.readableEncoding ?? "utf8") : chunk;
}

// One function of each for all requests: functions of their own would keep them from being collected early.

function sharedPush(this: CapturedRequest, chunk: unknown, encoding?: BufferEncoding): boolean {
  return (this[captured] as KeptBytes | HashedUpload).take(chunk, encoding);
}

function sharedDestroy(this: CapturedRequest, error?: Error): IncomingMessage {
  return (this[captured] as KeptBytes | HashedUpload).destroy(error);
}

/** Sees a body arrive, beside whoever reads it. */
abstract class Arrival {
  readonly #request: IncomingMessage;
  readonly #bytesMax: number;
  readonly #push: (chunk: unknown, encoding?: BufferEncoding) => boolean;
  /** Where bytes wait until the handler reads them. Default: in the request's own buffer. */
  readonly #detour: UploadDetour | undefined;
  #length = 0;
  #state: "arriving" | "complete" | "too-large" | "cut" = "arriving";
  #pulling = false;
  #wake: (() => void) | undefined;
  #destroy: IncomingMessage["destroy"] | undefined;

  constructor(
    request: IncomingMessage,
    bytesMax: number,
    detour?: (push: (chunk: unknown) => boolean) => UploadDetour,
  ) {
    this.#request = request;
    this.#bytesMax = bytesMax;
    // oxlint-disable-next-line unbound-method -- called with the request
    this.#push = request.push;
    this.#detour = detour?.((chunk) => this.#pass(chunk));
  }

  /** Every chunk up to the bound, once. */
  protected abstract note(chunk: Uint8Array): void;
  /** The body is past the bound: drops what was noted. */
  protected abstract drop(): void;

  protected begin(): void {
    const request = this.#request;
    const early = buffered(request);
    if (early !== undefined) this.#note(early);
    if (isAborted(request)) this.#state = "cut";
    else if (isWhole(request)) this.#note(null);
    request.push = sharedPush;
  }

  /** The answer is out. */
  letGo(): void {
    this.#detour?.letGo();
  }

  #pass(chunk: unknown, encoding?: BufferEncoding): boolean {
    return this.#push.call(this.#request, chunk, encoding);
  }

  take(chunk: unknown, encoding: BufferEncoding | undefined): boolean {
    const bytes = typeof chunk === "string" ? Buffer.from(chunk, encoding) : (chunk as Uint8Array | null);
    this.#note(bytes);
    const detour = this.#detour;
    if (detour?.isOpen === true) return detour.take(bytes);
    // While we pull, the bound on the buffer is ours, not the stream's high water mark.
    return this.#pass(chunk, encoding) || (this.#pulling && this.#state === "arriving");
  }

  #note(bytes: Uint8Array | null): void {
    if (this.#state !== "arriving") return;
    this.#length += bytes?.length ?? 0;
    if (this.#length > this.#bytesMax) {
      this.#state = "too-large";
      this.drop();
    } else if (bytes === null) {
      this.#state = isAborted(this.#request) ? "cut" : "complete";
    } else {
      this.note(bytes);
    }
    if (this.#state !== "arriving") this.#wake?.();
  }

  #pull(fail: (error: unknown) => void): void {
    const request = this.#request;
    if (request.readableFlowing === true) return;
    this.#pulling = true;
    if (this.#detour !== undefined) this.#detour.open(fail);
    // Past the high water mark `read` would leave the connection paused.
    else if (request.readableLength < request.readableHighWaterMark) request.read(0);
    else request._read(0);
  }

  /** At once where nothing is missing. Fails when the body is too large, or when the client stops before the end. */
  protected complete(): undefined | Promise<void> {
    const request = this.#request;
    const declared = Number(request.headers["content-length"] ?? 0);
    if (this.#state === "arriving" && declared > this.#bytesMax) this.#state = "too-large";
    if (this.#state === "arriving" && (request.destroyed || isAborted(request))) this.#state = "cut";
    if (this.#state === "arriving") return this.#arrive().then(() => this.#arrived());
    this.#arrived();
    return undefined;
  }

  #arrived(): void {
    if (this.#state === "too-large") throw tooLarge(this.#bytesMax);
    if (this.#state !== "complete") throw notInFull();
    if (!this.#request.readableEnded) this.#keepReadable();
  }

  /**
   * The client may go away after the body has fully arrived and before the handler has read it. Node would then throw the
   * rest of the buffer away; the handler must be able to finish.
   */
  #keepReadable(): void {
    if (this.#destroy !== undefined) return;
    // oxlint-disable-next-line unbound-method -- called with the request
    this.#destroy = this.#request.destroy;
    this.#request.destroy = sharedDestroy as IncomingMessage["destroy"];
  }

  destroy(error: Error | undefined): IncomingMessage {
    const clientGone = (error as NodeJS.ErrnoException | undefined)?.code === "ECONNRESET";
    if (clientGone && !this.#request.readableEnded) return this.#request;
    return this.#destroy?.call(this.#request, error) ?? this.#request;
  }

  async #arrive(): Promise<void> {
    const request = this.#request;
    const cut = (): void => {
      if (this.#state === "arriving") this.#state = "cut";
      this.#wake?.();
    };
    const timer = setTimeout(cut, requestMsMax);
    timer.unref();
    request.once("close", cut);
    try {
      await new Promise<void>((resolve, reject) => {
        this.#wake = resolve;
        this.#pull(reject);
      });
      await this.#detour?.kept();
    } finally {
      this.#pulling = false;
      this.#detour?.giveBack();
      clearTimeout(timer);
      request.removeListener("close", cut);
    }
  }
}

class KeptBytes extends Arrival implements RequestBytes {
  #chunks: Uint8Array[] = [];

  constructor(request: CapturedRequest, bytesMax: number) {
    super(request, bytesMax);
    request[captured] = this;
    this.begin();
  }

  protected note(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
  }

  protected drop(): void {
    this.#chunks = [];
  }

  all(): ArrivedBody | Promise<ArrivedBody> {
    const arriving = this.complete();
    return arriving === undefined ? this.#body() : arriving.then(() => this.#body());
  }

  #body(): ArrivedBody {
    const [first] = this.#chunks;
    const bytes = this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks);
    return { kind: "bytes", bytes };
  }
}

class HashedUpload extends Arrival implements RequestBytes {
  readonly #hash: UploadHash;
  #body: Promise<ArrivedBody> | undefined;

  constructor(request: CapturedRequest, hash: UploadHash, bytesMax: number) {
    super(request, bytesMax, (push) => createUploadDetour(request, push));
    this.#hash = hash;
    request[captured] = this;
    this.begin();
  }

  protected note(chunk: Uint8Array): void {
    this.#hash.update(chunk);
  }

  protected drop(): void {}

  all(): Promise<ArrivedBody> {
    this.#body ??= this.#hashed();
    return this.#body;
  }

  async #hashed(): Promise<ArrivedBody> {
    await this.complete();
    return this.#hash.body();
  }
}
