/**
 * The body of a request as it arrives, noted beside the stream: whoever reads the request sees it as if nobody else had
 * looked. Multipart bodies are hashed, all others are kept, still content-coded.
 */
import type { IncomingMessage } from "node:http";
import type { RequestBody } from "../core/contract/message.ts";
import type { BodyLimits } from "./body-limits.ts";
import { isUnread, watchArrival } from "./request-arrival.ts";
import { createUploadDetour } from "./upload-detour.ts";
import { uploadHashFor, type UploadHash } from "./upload-hash.ts";

export interface RequestBytes {
  /** All of it, once it is in. Rejects when there is too much, or when the client stops before the end. */
  all(): Promise<Exclude<RequestBody, { readonly kind: "parsed" }>>;
  /** The answer is out: what was kept for a handler that has not begun to read can go. */
  letGo?(): void;
}

const captures = new WeakMap<IncomingMessage, RequestBytes>();

export function capturedBytes(request: IncomingMessage): RequestBytes | undefined {
  return captures.get(request);
}

/** For a framework that keeps the bytes itself. What was noted as it arrived stays. */
export function noteBytes(request: IncomingMessage, bytes: Uint8Array): void {
  if (!captures.has(request)) captures.set(request, { all: async () => ({ kind: "bytes", bytes }) });
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

/** Starts noting; a second call answers with the first capture. Undefined when somebody has read already. */
export function captureBytes(request: IncomingMessage, limits: BodyLimits): RequestBytes | undefined {
  const former = captures.get(request);
  if (former !== undefined) return former;
  if (!isUnread(request)) return undefined;
  const { headers } = request;
  const hash = uploadHashFor(headers["content-type"], [headers["content-encoding"] ?? ""]);
  const capture =
    hash === undefined ? keepBytes(request, limits.requestBytesMax) : hashUpload(request, hash, limits.uploadBytesMax);
  captures.set(request, capture);
  return capture;
}
