/** A console on Node's own request and response, which Express, Nest, Fastify and Koa have underneath. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Incoming } from "./handler.ts";
import { Problem } from "./problem.ts";

export const bodyBytesMax = 262_144;

/** What was parsed before, by Express and its like. */
export type NodeIncoming = IncomingMessage & {
  readonly body?: unknown;
  readonly originalUrl?: string;
  readonly baseUrl?: string;
};

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += (chunk as Uint8Array).length;
    if (bytes > bodyBytesMax) throw new Problem("too-large", `the body has more than ${bodyBytesMax} bytes`);
    chunks.push(chunk as Uint8Array);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** A parser in front may leave bytes, a text or the value; one that left nothing leaves the stream. */
async function bodyOf(request: IncomingMessage, parsed: unknown): Promise<unknown> {
  if (parsed === undefined || (request.readableEnded === false && !request.readableDidRead)) return textOf(request);
  if (parsed instanceof Uint8Array) return Buffer.from(parsed).toString("utf8");
  return parsed;
}

export interface NodeMounting {
  readonly native: unknown;
  readonly mount: string;
  readonly url: string;
  readonly originalUrl: string;
  readonly parsed: unknown;
}

export function nodeIncoming(request: IncomingMessage, mounting: NodeMounting): Incoming {
  const { native, mount, url, originalUrl, parsed } = mounting;
  return {
    method: request.method ?? "GET",
    url,
    mount,
    originalPath: originalUrl.split("?", 1)[0] ?? "/",
    header(name) {
      const value = request.headers[name];
      return Array.isArray(value) ? value[0] : value;
    },
    body: () => bodyOf(request, parsed),
    native,
  };
}

/** Who takes nothing for so long is gone, or keeps a place that others want. */
const drainMsMax = 60_000;

/** Until there is room again, or nobody to write to any more. Leaves no listener behind: a stream may wait often. */
async function drained(response: ServerResponse): Promise<void> {
  if (response.destroyed) return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => response.destroy(), drainMsMax);
    const done = (): void => {
      clearTimeout(timer);
      response.off("drain", done).off("close", done);
      resolve();
    };
    response.once("drain", done).once("close", done);
  });
}

export async function sendResponse(response: ServerResponse, answer: Response, method: string): Promise<void> {
  response.statusCode = answer.status;
  // What a layer in front allows other origins is not meant for a console.
  response.removeHeader("access-control-allow-origin");
  answer.headers.forEach((value, name) => void response.setHeader(name, value));
  if (answer.body === null || method === "HEAD") {
    response.end();
    return;
  }
  const reader = answer.body.getReader();
  // Who listens no longer must not be read for; who left before this tells it by no event any more.
  const cancel = (): void => void reader.cancel().catch(() => undefined);
  if (response.destroyed || response.closed) {
    cancel();
    return;
  }
  response.once("close", cancel);
  response.flushHeaders();
  for (;;) {
    const { value, done } = await reader.read();
    if (done || response.destroyed) break;
    if (!response.write(value)) await drained(response);
  }
  response.end();
}
