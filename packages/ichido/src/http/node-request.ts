/** Node's request as the core sees it. */
import type { IncomingMessage } from "node:http";
import { RequestBodyError } from "../core/contract/errors.ts";
import type { NeutralRequest, RequestBody } from "../core/contract/message.ts";
import { notInFull, type BodyLimits } from "./body-limits.ts";
import { codingsOf, decodeContent } from "./content-coding.ts";
import { endsWithHead, isAborted, isHttp2 } from "./http2.ts";
import { captureBytes, capturedBytes } from "./request-bytes.ts";

/** Frameworks on Node add these to the message. */
export type NodeRequest = IncomingMessage & { readonly originalUrl?: string; body?: unknown };

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

/** A parser ran before us and kept no bytes: what it made is all that the handler can see either. */
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
  const codings = codingsOf(linesOf(request, "content-encoding"));
  // The bound holds as sent, and again as decoded.
  return bytesBody(await decodeContent(body.bytes, codings, limits.requestBytesMax));
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
