/** Watches a request arrive, beside whoever reads it, and pulls it in where nobody does. */
import type { IncomingMessage } from "node:http";
import { notInFull, tooLarge } from "./body-limits.ts";
import { isAborted } from "./http2.ts";
import type { UploadDetour } from "./upload-detour.ts";

/** How long a client may take to send the body; Node's own `requestTimeout` is the same. */
const requestMsMax = 300_000;

/** Parts of Node's message that its types leave out. */
type Internals = IncomingMessage & { _consuming?: boolean };

export interface ArrivalParts {
  readonly bytesMax: number;
  /** Every chunk up to the bound, once. */
  note(chunk: Uint8Array): void;
  /** Past the bound: what was noted is of no use. */
  drop(): void;
  /** Where the bytes wait that nobody reads yet. Default: in the request's own buffer. */
  readonly detour?: (push: (chunk: unknown) => boolean) => UploadDetour;
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

export interface Arrival {
  /** Resolves when the body is in. Rejects when there is too much of it, or when the client stops before the end. */
  complete(this: void): Promise<void>;
  /** The answer is out. */
  letGo(this: void): void;
}

export function watchArrival(request: IncomingMessage, parts: ArrivalParts): Arrival {
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
