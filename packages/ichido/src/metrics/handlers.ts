/** Serves the metrics text over HTTP, for Node and for fetch. Mount it where only your collector reaches it. */
import type { IncomingMessage, ServerResponse } from "node:http";

export const contentType = "text/plain; version=0.0.4; charset=utf-8";

export type NodeMetricsHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;
export type FetchMetricsHandler = (request: Request) => Promise<Response>;

interface Answer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

async function answer(method: string, text: () => Promise<string>): Promise<Answer> {
  if (method !== "GET" && method !== "HEAD") return { status: 405, headers: { allow: "GET, HEAD" }, body: "" };
  return { status: 200, headers: { "content-type": contentType, "cache-control": "no-store" }, body: await text() };
}

export function nodeHandler(text: () => Promise<string>): NodeMetricsHandler {
  return async (request, response) => {
    const { status, headers, body } = await answer(request.method ?? "GET", text);
    response.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body) });
    response.end(request.method === "HEAD" ? undefined : body);
  };
}

export function fetchHandler(text: () => Promise<string>): FetchMetricsHandler {
  return async (request) => {
    const { status, headers, body } = await answer(request.method, text);
    return new Response(request.method === "HEAD" ? null : body, { status, headers });
  };
}
