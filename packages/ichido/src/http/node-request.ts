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

/** Header lines as they came: Node's own `headers` joins or drops repeated ones. */
function linesOf(request: IncomingMessage, name: string): readonly string[] {
  const lines: string[] = [];
  const { rawHeaders } = request;
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.toLowerCase() === name) lines.push(rawHeaders[index + 1] ?? "");
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

async function bodyOf(request: NodeRequest, limits: BodyLimits): Promise<RequestBody> {
  if (!hasContent(request)) return { kind: "none" };
  if (!request.complete && request.destroyed) throw notInFull();
  const capture = capturedBytes(request) ?? captureBytes(request, limits);
  if (capture === undefined && isAborted(request)) throw notInFull();
  if (capture === undefined) return parsedBody(request);
  const body = await capture.all();
  if (body.kind !== "bytes") return body;
  // As sent, like the bytes: a layer that inflates the body for the handler may take the header out of `headers`.
  const coded = linesOf(request, "content-encoding");
  if (coded.length === 0 || capture.isDecoded === true) return bytesBody(body.bytes);
  // The bound holds as sent, and again as decoded.
  return bytesBody(await decodeContent(body.bytes, codingsOf(coded), limits.requestBytesMax));
}

export function neutralRequest<Native extends NodeRequest>(
  request: Native,
  limits: BodyLimits,
): NeutralRequest<Native> {
  return {
    method: request.method ?? "GET",
    target: request.originalUrl ?? request.url ?? "/",
    headerLines: (name) => linesOf(request, name),
    body: () => bodyOf(request, limits),
    native: request,
  };
}

export interface RequestBytes {
  /** The whole body, once it has arrived. Rejects when it is too large, or when the client stops before the end. */
  all(): Promise<Exclude<RequestBody, { readonly kind: "parsed" }>>;
  /** They are the content itself, whatever codings it was sent with. */
  readonly isDecoded?: boolean;
  /** The answer is out: what was kept for a handler that has not begun to read can go. */
  letGo?(): void;
}

const captures = new WeakMap<IncomingMessage, RequestBytes>();

export function capturedBytes(request: IncomingMessage): RequestBytes | undefined {
  return captures.get(request);
}

/** For a framework that keeps the bytes itself, without codings. What was noted as it arrived stays. */
export function noteBytes(request: IncomingMessage, bytes: Uint8Array): void {
  if (captures.has(request)) return;
  captures.set(request, { all: async () => ({ kind: "bytes", bytes }), isDecoded: true });
}

function keepBytes(request: IncomingMessage, bytesMax: number): RequestBytes {
  const chunks: Uint8Array[] = [];
  const arrival = watchArrival(request, {
    bytesMax,
    note: (chunk) => void chunks.push(chunk),
    drop: () => void (chunks.length = 0),
  });
  return {
    async all() {
      await arrival.complete();
      const bytes = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
      return { kind: "bytes", bytes };
    },
  };
}

function hashUpload(request: IncomingMessage, hash: UploadHash, bytesMax: number): RequestBytes {
  const arrival = watchArrival(request, {
    bytesMax,
    note: (chunk) => hash.update(chunk),
    drop: () => undefined,
    detour: (push) => createUploadDetour(request, push),
  });
  let body: ReturnType<RequestBytes["all"]> | undefined;
  return { all: () => (body ??= arrival.complete().then(() => hash.body())), letGo: arrival.letGo };
}

/** Starts to note the bytes; a second call returns the first capture. Undefined when the body was read before. */
export function captureBytes(request: IncomingMessage, limits: BodyLimits): RequestBytes | undefined {
  const former = captures.get(request);
  if (former !== undefined) return former;
  if (!isUnread(request)) return undefined;
  const { headers } = request;
  const mediaType = parseMediaType(headers["content-type"]);
  const isMultipart = mediaType.kind === "multipart";
  const hash = isMultipart ? uploadHashFor(mediaType, [headers["content-encoding"] ?? ""]) : undefined;
  const capture =
    hash === undefined ? keepBytes(request, limits.requestBytesMax) : hashUpload(request, hash, limits.uploadBytesMax);
  captures.set(request, capture);
  return capture;
}

/** How long a client may take to send the body; Node's own `requestTimeout` is the same. */
const requestMsMax = 300_000;

/** Parts of Node's message that its types leave out. */
type Internals = IncomingMessage & { _consuming?: boolean };

interface ArrivalParts {
  readonly bytesMax: number;
  /** Every chunk up to the bound, once. */
  note(chunk: Uint8Array): void;
  /** The body is past the bound: drops what was noted. */
  drop(): void;
  /** Where bytes wait until the handler reads them. Default: in the request's own buffer. */
  readonly detour?: (push: (chunk: unknown) => boolean) => UploadDetour;
}

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

/**
 * The client may go away after the body has fully arrived and before the handler has read it. Node would then throw the
 * rest of the buffer away; the handler must be able to finish.
 */
function keepReadable(request: IncomingMessage): void {
  const destroy = request.destroy.bind(request);
  request.destroy = (error?: Error) => {
    const clientGone = (error as NodeJS.ErrnoException | undefined)?.code === "ECONNRESET";
    return clientGone && !request.readableEnded ? request : destroy(error);
  };
}

interface Arrival {
  /** Resolves when the body has arrived. Rejects when it is too large, or when the client stops before the end. */
  complete(this: void): Promise<void>;
  /** The answer is out. */
  letGo(this: void): void;
}

function watchArrival(request: IncomingMessage, parts: ArrivalParts): Arrival {
  const { bytesMax } = parts;
  let length = 0;
  let state: "arriving" | "complete" | "too-large" | "cut" = "arriving";
  let pulling = false;
  let wake: () => void = () => undefined;

  function bytesOf(chunk: unknown, encoding?: BufferEncoding): Uint8Array {
    return typeof chunk === "string" ? Buffer.from(chunk, encoding) : (chunk as Uint8Array);
  }

  function note(bytes: Uint8Array | null): void {
    if (state !== "arriving") return;
    length += bytes?.length ?? 0;
    if (length > bytesMax) {
      state = "too-large";
      parts.drop();
    } else if (bytes === null) {
      state = isAborted(request) ? "cut" : "complete";
    } else {
      parts.note(bytes);
    }
    if (state !== "arriving") wake();
  }

  const early = buffered(request);
  if (early !== undefined) note(early);
  if (isAborted(request)) state = "cut";
  else if (request.complete) note(null);
  const push = request.push.bind(request);
  const detour = parts.detour?.(push);
  request.push = (chunk: unknown, encoding?: BufferEncoding): boolean => {
    const bytes = chunk === null ? null : bytesOf(chunk, encoding);
    note(bytes);
    if (detour?.isOpen === true) return detour.take(bytes);
    // While we pull, the bound on the buffer is ours, not the stream's high water mark.
    return push(chunk, encoding) || (pulling && state === "arriving");
  };

  function pull(fail: (error: unknown) => void): void {
    if (request.readableFlowing === true) return;
    pulling = true;
    if (detour !== undefined) detour.open(fail);
    // Past the high water mark `read` would leave the connection paused.
    else if (request.readableLength < request.readableHighWaterMark) request.read(0);
    else request._read(0);
  }

  async function arrive(): Promise<void> {
    const cut = (): void => {
      if (state === "arriving") state = "cut";
      wake();
    };
    const timer = setTimeout(cut, requestMsMax);
    timer.unref();
    request.once("close", cut);
    try {
      await new Promise<void>((resolve, reject) => {
        wake = resolve;
        pull(reject);
      });
      await detour?.kept();
    } finally {
      pulling = false;
      detour?.giveBack();
      clearTimeout(timer);
      request.removeListener("close", cut);
    }
  }

  async function complete(): Promise<void> {
    const declared = Number(request.headers["content-length"] ?? 0);
    if (state === "arriving" && declared > bytesMax) state = "too-large";
    if (state === "arriving" && (request.destroyed || isAborted(request))) state = "cut";
    if (state === "arriving") await arrive();
    if (state === "too-large") throw tooLarge(bytesMax);
    if (state !== "complete") throw notInFull();
    if (!request.readableEnded) keepReadable(request);
  }

  return { complete, letGo: () => detour?.letGo() };
}
