/** A web `Request` as the core sees it. */
import { RequestBodyError } from "../core/contract/errors.ts";
import type { NeutralRequest, RequestBody } from "../core/contract/message.ts";
import { parseMediaType } from "../core/request/media-type.ts";
import { notInFull, tooLarge, type BodyLimits } from "./body-limits.ts";
import { codingsOf, decodeContent } from "./content-coding.ts";
import { lightBytesOf } from "./light-messages.ts";
import { uploadHashFor } from "./upload-hash.ts";
import { needsSpool, spoolUpload } from "./web-upload.ts";

/** Reads to the end or to the bound, whichever comes first. */
export async function readBytes(body: ReadableStream<Uint8Array>, bytesMax: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = body.getReader();
  for (;;) {
    let part: Awaited<ReturnType<typeof reader.read>>;
    try {
      part = await reader.read();
    } catch (error) {
      throw notInFull(error);
    }
    if (part.done) break;
    length += part.value.length;
    if (length > bytesMax) {
      void reader.cancel().catch(() => undefined);
      throw tooLarge(bytesMax);
    }
    chunks.push(part.value);
  }
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, length);
}

function checkUnread(request: Request, bytesMax: number): void {
  if (request.bodyUsed) {
    throw new RequestBodyError(
      "body-unavailable",
      "The request body was read before ichido could see it. Protect the route before reading it.",
    );
  }
  if (Number(request.headers.get("content-length") ?? 0) > bytesMax) throw tooLarge(bytesMax);
}

/** A copy is read, so that the handler finds the body unread. */
async function readCopy(request: Request, bytesMax: number): Promise<Uint8Array> {
  checkUnread(request, bytesMax);
  return readBytes(request.clone().body as ReadableStream<Uint8Array>, bytesMax);
}

async function bodyOf({ request, limits, bytes, keyField }: WebRequestParts<unknown>): Promise<RequestBody> {
  const coding = request.headers.get("content-encoding") ?? "";
  const hash = uploadHashFor(parseMediaType(request.headers.get("content-type") ?? undefined), [coding], keyField);
  const bytesMax = hash === undefined ? limits.requestBytesMax : limits.uploadBytesMax;
  const isSpooled = hash !== undefined && bytes === undefined && needsSpool(request);
  const atHand = bytes ?? (isSpooled ? undefined : lightBytesOf(request, bytesMax));
  if (atHand === undefined && request.body === null) return { kind: "none" };
  if (isSpooled) {
    checkUnread(request, bytesMax);
    await spoolUpload(request, hash, bytesMax);
    return hash.body();
  }
  const sent = await (atHand?.() ?? readCopy(request, bytesMax));
  if (sent.length > bytesMax) throw tooLarge(bytesMax);
  if (hash !== undefined) {
    hash.update(sent);
    return hash.body();
  }
  const decoded = await decodeContent(sent, codingsOf([coding]), bytesMax);
  return decoded.length === 0 ? { kind: "none" } : { kind: "bytes", bytes: decoded };
}

/**
 * `Headers` joins repeated lines by a comma and a space, and a quoted key may contain these, too. One such line cannot
 * be distinguished from two, so both count as two. A media type is one line.
 */
function linesOf(value: string | null, name: string): readonly string[] {
  if (value === null) return [];
  return name === "content-type" ? [value] : value.split(", ");
}

export interface WebRequestParts<Native> {
  readonly request: Request;
  readonly native: Native;
  readonly limits: BodyLimits;
  /** The field of a form that has the key. */
  readonly keyField?: string | undefined;
  /** Where the framework keeps the bytes itself. */
  readonly bytes?: () => Promise<Uint8Array>;
}

export function neutralWebRequest<Native>(parts: WebRequestParts<Native>): NeutralRequest<Native> {
  const { request } = parts;
  const url = new URL(request.url);
  return {
    method: request.method,
    target: url.pathname + url.search,
    headerLines: (name) => linesOf(request.headers.get(name), name),
    body: () => bodyOf(parts),
    native: parts.native,
  };
}
