/** A console on the web's own request, for Hono and whatever speaks fetch. */
import type { Incoming } from "./handler.ts";
import { bodyBytesMax } from "./node-mount.ts";
import { Problem } from "./problem.ts";

async function textOf(request: Request): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request.body ?? []) {
    bytes += chunk.length;
    if (bytes > bodyBytesMax) throw new Problem("too-large", `the body has more than ${bodyBytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Hono keeps what a middleware in front has read. */
function bodyOf(request: Request, native: unknown): Promise<unknown> {
  if (!request.bodyUsed) return textOf(request);
  const { req } = Object(native) as { readonly req?: { text?(): Promise<string> } };
  if (typeof req?.text === "function") return req.text();
  throw new Problem("body", "the body was read before the console; hand it the request as it came");
}

export function webIncoming(request: Request, native: unknown, mount: string): Incoming {
  const { pathname, search } = new URL(request.url);
  // Asked for now: Hono's server makes it at the first look, and tells it of nobody who left before that.
  const { signal: left } = request;
  return {
    method: request.method,
    url: `${pathname}${search}`,
    mount,
    originalPath: pathname,
    header: (name) => request.headers.get(name) ?? undefined,
    body: async () => bodyOf(request, native),
    native,
    left,
  };
}
