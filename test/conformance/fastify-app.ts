/** The harness's application in Fastify. */
import { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import fastify, { type FastifyReply, type FastifyRequest } from "fastify";
import { idempotency } from "ichido/fastify";
import type { AdapterSubject, HarnessAnswer, HarnessOptions, RunningApp } from "ichido/testing";
import { createHarness } from "../../packages/ichido/src/testing/adapter-suite/harness.ts";
import { routePrefix } from "../../packages/ichido/src/testing/adapter-suite/routes.ts";
import { corsLines, listening, pieces, streamOf } from "./answers.ts";
import { allLayers, fastifyLayer } from "./layers.ts";

type Way = (reply: FastifyReply, answer: HarnessAnswer) => unknown;

/** Every way in which Fastify applications write answers. */
const ways: Readonly<Record<string, Way>> = {
  send: (reply, { body }) => reply.send(Buffer.from(body)),
  json: (reply, { json }) => reply.send(json),
  chunks: (reply, { body }) => reply.send(Readable.from(pieces(body))),
  "web stream": (reply, { body }) => reply.send(new Blob([Buffer.from(body)]).stream()),
  raw(reply, { status, headers, body }) {
    reply.hijack();
    for (const [name, value] of Object.entries(reply.getHeaders()))
      if (value !== undefined) reply.raw.setHeader(name, value);
    reply.raw.writeHead(status, headers.flat());
    for (const piece of pieces(body)) reply.raw.write(piece);
    reply.raw.end();
  },
  async events(reply, { events }) {
    reply.hijack();
    reply.raw.writeHead(200, { "content-type": "text/event-stream" });
    for await (const event of events) reply.raw.write(event);
    reply.raw.end();
  },
  "events by stream": (reply, { events }) => reply.type("text/event-stream").send(Readable.from(events)),
  "events by web stream": (reply, { events }) => reply.type("text/event-stream").send(streamOf(events)),
  async flush(reply, { status, events }) {
    reply.hijack();
    reply.raw.statusCode = status;
    reply.raw.flushHeaders();
    for await (const event of events) reply.raw.write(event);
    reply.raw.end();
  },
  hints: () => undefined,
  void: (reply) => reply.removeHeader("content-type").send(),
  provided: () => undefined,
};

export async function startFastify(
  options: HarnessOptions,
  server: { readonly http2?: true } = {},
): Promise<RunningApp> {
  const harness = createHarness<FastifyRequest>(options, (request) => request.headers.authorization);
  const app = fastify({
    bodyLimit: harness.jsonBytesMax,
    onProtoPoisoning: "ignore",
    // The options of an HTTP/2 server make other types of everything; what is tried here is the same.
    ...(server.http2 === true ? (server as object) : { forceCloseConnections: true }),
  });
  await fastifyLayer(harness, app);
  app.addHook("preParsing", async (request, _reply, payload) => {
    if (request.headers["content-encoding"] !== "gzip") return payload;
    const inflated: Readable & { receivedEncodedLength?: number } = payload.pipe(createGunzip());
    inflated.receivedEncodedLength = Number(request.headers["content-length"] ?? 0);
    return inflated;
  });
  app.addContentTypeParser("*", (_request, payload, done) => {
    payload.resume();
    payload.on("end", () => done(null, undefined));
  });
  app.addHook("onRequest", async (request, reply) => {
    const { preflight, lines } = corsLines(harness, { method: request.method, origin: request.headers.origin });
    for (const [name, value] of lines) reply.header(name, value);
    if (preflight) return reply.code(204).send();
    reply.header("X-Request-Serial", harness.serial());
    const status = harness.tokens.admit(request.headers.authorization);
    return status === 200 ? undefined : reply.code(status).send({ error: "refused by an outer layer" });
  });
  await app.register(idempotency, { ichido: harness.ichido, quietMs: 5_000 });
  for (const route of harness.routes) {
    for (const path of route.paths) {
      app.route({
        method: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"],
        url: routePrefix + path,
        config: { idempotency: route.options },
        async handler(request, reply) {
          const made = await harness.handle({
            method: request.method,
            target: request.raw.url ?? "/",
            header: (name) => request.headers[name] as string | undefined,
            body: request.body,
            idempotency: request.idempotency ?? undefined,
          });
          if (made.way === "provided") return reply;
          if (made.hints) reply.raw.writeEarlyHints({ link: "</style.css>; rel=preload; as=style" });
          reply.code(made.status);
          for (const name of new Set(made.headers.map(([each]) => each))) {
            const values = made.headers.filter(([each]) => each === name).map(([, value]) => value);
            reply.header(name, values.length === 1 ? (values[0] ?? "") : values);
          }
          await ways[made.way]?.(reply, made);
          return reply;
        },
      });
    }
  }
  await app.listen({ port: 0, host: "127.0.0.1" });
  const running = await listening(app.server, harness);
  return { ...running, close: () => app.close() };
}

export const fastifySubject: Pick<AdapterSubject, "start" | "ways" | "layers" | "skip"> = {
  start: (options) => startFastify(options),
  layers: allLayers,
  skip: { "M-01 QUERY": "Fastify itself refuses QUERY without a content type" },
  ways: Object.keys(ways).filter((way) => way !== "send" && way !== "provided"),
};
