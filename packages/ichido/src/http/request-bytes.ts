/**
 * The bytes of a request as they arrive, noted beside the stream: whoever reads the request sees them as if nobody else
 * had looked. They are still content-coded.
 */
import type { IncomingMessage } from "node:http";
import { RequestBodyError } from "../core/errors.ts";

export interface RequestBytes {
  /** All bytes, once they are in. Rejects when there are too many, or when the client stops before the end. */
  all(): Promise<Uint8Array>;
}

export const requestBytesMaxDefault = 10 * 1_048_576;
/** How long a client may take to send the body; Node's own `requestTimeout` is the same. */
const requestMsMax = 300_000;

/** Parts of Node's message that its types leave out. */
type Internals = IncomingMessage & { _consuming?: boolean };

const captures = new WeakMap<IncomingMessage, RequestBytes>();

export function capturedBytes(request: IncomingMessage): RequestBytes | undefined {
  return captures.get(request);
}

/** For a framework that keeps the bytes itself. What was noted as it arrived stays. */
export function noteBytes(request: IncomingMessage, bytes: Uint8Array): void {
  if (!captures.has(request)) captures.set(request, { all: async () => bytes });
}

/** Nobody has taken anything from the stream yet. */
export function isUnread(request: IncomingMessage): boolean {
  return !request.readableDidRead && !request.readableEnded && request.readableFlowing !== true && !request.destroyed;
}

/** What arrived before the capture was mounted sits in the stream's buffer: looked at and put back at once. */
function buffered(request: Internals): Uint8Array | undefined {
  if (request.readableLength === 0) return undefined;
  const consuming = request._consuming;
  const chunk = request.read(request.readableLength) as Buffer | string | null;
  if (chunk === null) return undefined;
  request.unshift(chunk);
  // Node throws away an unread body after the answer; the look must not count as reading.
  if (consuming !== undefined) request._consuming = consuming;
  return typeof chunk === "string" ? Buffer.from(chunk, request.readableEncoding ?? "utf8") : chunk;
}

/**
 * The client may go away while the handler has yet to read what has fully arrived. Node would then throw the rest of
 * the buffer away; the handler must be able to finish.
 */
function keepReadable(request: IncomingMessage): void {
  const destroy = request.destroy.bind(request);
  request.destroy = (error?: Error) => {
    const clientGone = (error as NodeJS.ErrnoException | undefined)?.code === "ECONNRESET";
    return clientGone && !request.readableEnded ? request : destroy(error);
  };
}

/** Starts noting bytes; a second call answers with the first capture. Undefined when somebody has read already. */
export function captureBytes(request: IncomingMessage, bytesMax: number): RequestBytes | undefined {
  const former = captures.get(request);
  if (former !== undefined) return former;
  if (!isUnread(request)) return undefined;

  const chunks: Uint8Array[] = [];
  let length = 0;
  let state: "arriving" | "complete" | "too-large" | "cut" = "arriving";
  let pulling = false;
  let wake: () => void = () => undefined;

  function note(chunk: unknown, encoding?: BufferEncoding): void {
    if (state !== "arriving") return;
    if (chunk === null) {
      state = "complete";
      wake();
      return;
    }
    const bytes = typeof chunk === "string" ? Buffer.from(chunk, encoding) : (chunk as Uint8Array);
    length += bytes.length;
    if (length > bytesMax) {
      state = "too-large";
      chunks.length = 0;
      wake();
    } else {
      chunks.push(bytes);
    }
  }

  const early = buffered(request);
  if (early !== undefined) note(early);
  if (request.complete) note(null);
  const push = request.push.bind(request);
  request.push = (chunk: unknown, encoding?: BufferEncoding): boolean => {
    note(chunk, encoding);
    // While we pull, the bound on the buffer is ours, not the stream's high water mark.
    return push(chunk, encoding) || (pulling && state === "arriving");
  };

  function failure(): RequestBodyError {
    return state === "too-large"
      ? new RequestBodyError("request-too-large", `The request body is larger than ${bytesMax} bytes.`)
      : new RequestBodyError("request-unreadable", "The request body did not arrive in full. Send it again.");
  }

  async function arrived(): Promise<void> {
    const cut = (): void => {
      if (state === "arriving") state = "cut";
      wake();
    };
    const timer = setTimeout(cut, requestMsMax);
    timer.unref();
    request.once("close", cut);
    await new Promise<void>((resolve) => {
      wake = resolve;
      if (request.readableFlowing !== true) {
        pulling = true;
        // Past the high water mark `read` would leave the connection paused.
        if (request.readableLength < request.readableHighWaterMark) request.read(0);
        else request._read(0);
      }
    });
    pulling = false;
    clearTimeout(timer);
    request.removeListener("close", cut);
  }

  const capture: RequestBytes = {
    async all() {
      const declared = Number(request.headers["content-length"] ?? 0);
      if (state === "arriving" && declared > bytesMax) state = "too-large";
      if (state === "arriving" && request.destroyed) state = "cut";
      if (state === "arriving") await arrived();
      if (state !== "complete") throw failure();
      if (!request.readableEnded) keepReadable(request);
      return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, length);
    },
  };
  captures.set(request, capture);
  return capture;
}
