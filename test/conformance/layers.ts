/** The layers in front that `HarnessOptions.layer` asks for, as applications write or install them. */
import type { IncomingMessage, ServerResponse } from "node:http";
import compression from "compression";
import type { Harness, Layer } from "ichido/testing";
import { signatureOf } from "../../packages/ichido/src/testing/adapter-suite/harness.ts";

type LayerHarness = Pick<Harness<never>, "layer" | "serial">;

export const allLayers: readonly Layer[] = ["signature", "envelope", "compression"];

export function isJson(type: unknown): boolean {
  return typeof type === "string" && /^application\/(?:[\w.+-]+\+)?json\b/i.test(type);
}

export function enveloped(content: Uint8Array | string): string {
  return JSON.stringify({ data: JSON.parse(Buffer.from(content as string).toString()) as unknown });
}

type End = (content: Uint8Array) => ServerResponse;

/** In its own `end`, where such a layer first has the whole content. */
export function changeInEnd(response: ServerResponse, change: (content: Buffer) => Buffer): void {
  const end = response.end.bind(response) as End;
  (response as { end: unknown }).end = (chunk: Uint8Array | string = "") => end(change(Buffer.from(chunk as string)));
}

/** In front of the application's own middleware; goes on with `next`. */
export function layerInFront(
  harness: LayerHarness,
  request: IncomingMessage,
  response: ServerResponse,
  next: () => void,
): void {
  if (harness.layer === "compression") {
    compression({ threshold: 0 })(request as never, response as never, next);
    return;
  }
  if (harness.layer === "signature") {
    changeInEnd(response, (content) => {
      response.setHeader("X-Signature", signatureOf(content));
      response.setHeader("X-Served", harness.serial());
      return content;
    });
  } else if (harness.layer === "envelope") {
    changeInEnd(response, (content) => {
      if (!isJson(response.getHeader("content-type"))) return content;
      const changed = Buffer.from(enveloped(content));
      response.setHeader("Content-Length", changed.length);
      return changed;
    });
  }
  next();
}

/** The same for servers whose answers are web responses. */
export async function changedResponse(harness: LayerHarness, response: Response): Promise<Response> {
  if (harness.layer !== "signature" && harness.layer !== "envelope") return response;
  const content = Buffer.from(await response.arrayBuffer());
  const headers = new Headers(response.headers);
  headers.delete("content-length");
  const isChanged = harness.layer === "envelope" && isJson(headers.get("content-type"));
  const body = isChanged ? Buffer.from(enveloped(content)) : content;
  if (harness.layer === "signature") {
    headers.set("X-Signature", signatureOf(body));
    headers.set("X-Served", harness.serial());
  }
  return new Response(body.length === 0 ? null : body, { status: response.status, headers });
}

/** What is used of a Fastify instance, also of the one in Nest. */
interface FastifyLike {
  register(plugin: never, options: never): unknown;
  addHook(name: "onSend", hook: (request: unknown, reply: ReplyLike, payload: unknown) => Promise<unknown>): unknown;
}

interface ReplyLike {
  header(name: string, value: string): unknown;
  getHeader(name: string): unknown;
}

export async function fastifyLayer(harness: LayerHarness, app: FastifyLike): Promise<void> {
  const { layer } = harness;
  if (layer === "compression") {
    const { default: compress } = await import("@fastify/compress");
    await app.register(compress as never, { threshold: 0, encodings: ["gzip", "identity"] } as never);
  } else if (layer !== undefined) {
    app.addHook("onSend", async (_request, reply, payload) => {
      if (layer === "signature") {
        reply.header("X-Signature", signatureOf(Buffer.from((payload ?? "") as string)));
        reply.header("X-Served", harness.serial());
        return payload;
      }
      return isJson(reply.getHeader("content-type")) ? enveloped(payload as string) : payload;
    });
  }
}
