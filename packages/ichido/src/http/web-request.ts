/** A web `Request` as the core sees it. */
import { RequestBodyError } from "../core/errors.ts";
import type { NeutralRequest, RequestBody } from "../core/message.ts";
import { codingsOf, decodeContent } from "./content-coding.ts";

function tooLarge(bytesMax: number): RequestBodyError {
  return new RequestBodyError("request-too-large", `The request body is larger than ${bytesMax} bytes.`);
}

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
      throw new RequestBodyError("request-unreadable", "The request body did not arrive in full. Send it again.", {
        cause: error,
      });
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

/** A copy is read, so that the handler finds the body unread. */
async function bytesOf(request: Request, bytesMax: number): Promise<Uint8Array> {
  if (request.body === null) return new Uint8Array(0);
  if (request.bodyUsed) {
    throw new RequestBodyError(
      "body-unavailable",
      "The request body was read before ichido could see it. Protect the route before reading it.",
    );
  }
  if (Number(request.headers.get("content-length") ?? 0) > bytesMax) throw tooLarge(bytesMax);
  const copy = request.clone();
  return readBytes(copy.body as ReadableStream<Uint8Array>, bytesMax);
}

export interface WebRequestParts<Native> {
  readonly request: Request;
  readonly native: Native;
  readonly requestBytesMax: number;
  /** Where the framework keeps the bytes itself. */
  readonly bytes?: () => Promise<Uint8Array>;
}

export function neutralWebRequest<Native>(parts: WebRequestParts<Native>): NeutralRequest<Native> {
  const { request, requestBytesMax } = parts;
  const url = new URL(request.url);
  return {
    method: request.method,
    target: url.pathname + url.search,
    // `Headers` joins repeated lines; a joined key is not a valid key, so repetition is refused all the same.
    headerLines(name) {
      const value = request.headers.get(name);
      return value === null ? [] : [value];
    },
    async body(): Promise<RequestBody> {
      const sent = await (parts.bytes?.() ?? bytesOf(request, requestBytesMax));
      if (sent.length > requestBytesMax) throw tooLarge(requestBytesMax);
      const coding = request.headers.get("content-encoding");
      const bytes = coding === null ? sent : await decodeContent(sent, codingsOf([coding]), requestBytesMax);
      return bytes.length === 0 ? { kind: "none" } : { kind: "bytes", bytes };
    },
    native: parts.native,
  };
}
