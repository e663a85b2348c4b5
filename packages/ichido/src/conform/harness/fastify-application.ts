import type { IncomingMessage, RequestListener } from "node:http";
import { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import {
  idempotency,
  type FastifyInstanceLike,
  type FastifyReplyLike,
  type FastifyRequestLike,
} from "../../adapters/fastify.ts";
import { createHarness, routePrefix, type Harness } from "../../testing/adapter-suite/index.ts";
import { linesByName, nodeCall, pieces, type BuildApplication } from "./application.ts";

type Payload = IncomingMessage & { receivedEncodedLength?: number };

/** What the harness needs from Fastify besides what the adapter needs. */
export interface FastifyLike {
  addHook(
    name: "preParsing",
    hook: (request: FastifyRequestLike, reply: unknown, payload: Payload) => Promise<unknown>,
  ): unknown;
  addContentTypeParser(
    type: string,
    parse: (request: unknown, payload: Readable, done: (error: null) => void) => void,
  ): unknown;
  register<Options>(
    plugin: (app: FastifyInstanceLike, options: Options) => Promise<void>,
    options: Options,
  ): Promise<unknown>;
  route(route: object): unknown;
  ready(): Promise<unknown>;
  close(): Promise<unknown>;
  readonly routing: RequestListener;
}

export const fastifySettings = (bodyLimit: number): object => ({ bodyLimit, onProtoPoisoning: "ignore" });

/**
 * Fastify's own parser reads only JSON. So this decodes coded bodies, and leaves bodies of other types for the handler.
 */
export function prepareBodies(app: Pick<FastifyLike, "addHook" | "addContentTypeParser">): void {
  app.addHook("preParsing", async ({ raw }, _reply, payload) => {
    if (raw.headers["content-encoding"] !== "gzip") return payload;
    const decoded: Readable & { receivedEncodedLength?: number } = payload.pipe(createGunzip());
    decoded.receivedEncodedLength = Number(raw.headers["content-length"] ?? 0);
    return decoded;
  });
  app.addContentTypeParser("*", (_request, payload, done) => {
    payload.resume();
    payload.on("end", () => done(null));
  });
}

export const buildFastify: BuildApplication = async (options, load) => {
  const { default: fastify } = (await load("fastify")) as { readonly default: (settings: object) => FastifyLike };
  const harness = createHarness<FastifyRequestLike>(options, (request) => request.raw.headers.authorization);
  const app = fastify(fastifySettings(harness.jsonBytesMax));
  prepareBodies(app);
  await app.register(idempotency, { ichido: harness.ichido });
  for (const { paths, options: route } of harness.routes) {
    const handler = async (request: FastifyRequestLike, reply: FastifyReplyLike): Promise<unknown> => {
      const made = await harness.handle(nodeCall(request.raw, request.idempotency ?? undefined, request.body));
      reply.code(made.status);
      for (const [name, value] of linesByName(made)) reply.header(name, value);
      reply.send(made.way === "stream" ? Readable.from(pieces(made.body)) : Buffer.from(made.body));
      return reply;
    };
    const method = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
    for (const path of paths) app.route({ method, url: routePrefix + path, config: { idempotency: route }, handler });
  }
  await app.ready();
  return {
    harness: harness as unknown as Harness<never>,
    listener: (request, response) => app.routing(request, response),
    close: async () => void (await app.close()),
  };
};
