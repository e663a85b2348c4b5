/** The harness's application in NestJS, on both platforms. Decorators are called by hand: sources run as they are. */
import "reflect-metadata";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import {
  All,
  Controller,
  HttpException,
  Module,
  Post,
  Req,
  Res,
  StreamableFile,
  VERSION_NEUTRAL,
  VersioningType,
} from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { ExpressAdapter, type NestExpressApplication } from "@nestjs/platform-express";
import { FastifyAdapter, type NestFastifyApplication } from "@nestjs/platform-fastify";
import type { Context } from "ichido";
import { captureBody, Idempotency, IdempotencyModule, Idempotent } from "ichido/nest";
import type { AdapterSubject, Harness, HarnessAnswer, HarnessOptions, RunningApp } from "ichido/testing";
import { of } from "rxjs";
import { createHarness } from "../../packages/ichido/src/testing/adapter-suite/harness.ts";
import { planHeader } from "../../packages/ichido/src/testing/adapter-suite/plan.ts";
import { routePrefix } from "../../packages/ichido/src/testing/adapter-suite/routes.ts";
import { corsLines, pieces } from "./answers.ts";
import { allLayers, fastifyLayer, layerInFront } from "./layers.ts";

export type Platform = "express" | "fastify";

/** What is used of Express's request and of Fastify's. */
export interface AnyRequest {
  readonly method: string;
  readonly url: string;
  readonly originalUrl: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: unknown;
}

interface AnyReply {
  readonly raw?: ServerResponse;
  status(status: number): unknown;
  header?(name: string, value: string | string[]): unknown;
  setHeader?(name: string, value: string | string[]): unknown;
  removeHeader(name: string): unknown;
}

const setHeader = (reply: AnyReply, name: string, value: string | string[]): unknown =>
  reply.raw === undefined ? reply.setHeader?.(name, value) : reply.header?.(name, value);

/** Every way in which handlers of Nest give answers. */
const ways: Readonly<Record<string, (answer: HarnessAnswer, reply: AnyReply) => unknown>> = {
  send: ({ body }) => (body.length === 0 ? undefined : new StreamableFile(body, { length: body.length })),
  json: ({ json, body }, reply) => {
    // Nest sends a value that is no object as text.
    if (typeof json === "object" && json !== null) return json;
    setHeader(reply, "Content-Type", "application/json; charset=utf-8");
    return body.length === 0 ? undefined : new StreamableFile(body, { length: body.length });
  },
  chunks: ({ body }) => new StreamableFile(Readable.from(pieces(body))),
  observable: ({ body }) => of(new StreamableFile(body, { length: body.length })),
  void: (_answer, reply) => void reply.removeHeader("content-type"),
  hints: ({ body }) => new StreamableFile(body, { length: body.length }),
  provided: () => undefined,
  async write({ body }, reply) {
    const response = handOver(reply);
    for (const piece of pieces(body)) response.write(piece);
    response.end();
  },
  async events({ events }, reply) {
    const response = handOver(reply);
    response.writeHead(200, { "content-type": "text/event-stream" });
    for await (const event of events) response.write(event);
    response.end();
  },
  async flush({ events }, reply) {
    const response = handOver(reply);
    response.flushHeaders();
    for await (const event of events) response.write(event);
    response.end();
  },
};

/** Ways of handlers that have the response to themselves. To Nest they are another version of the route. */
const ownWays = ["write", "events", "flush"];
const ownVersion = "own" as const;

function versionOf(request: unknown): string {
  const { headers } = request as { readonly headers: Readonly<Record<string, string | undefined>> };
  const plan = JSON.parse(decodeURIComponent(headers[planHeader] ?? "{}")) as { readonly way?: string };
  return ownWays.includes(plan.way ?? "") ? ownVersion : "any";
}

/** The response of Node, with the lines that were set on the framework's. */
function handOver(reply: AnyReply): ServerResponse {
  if (reply.raw === undefined) return reply as unknown as ServerResponse;
  const { raw } = reply;
  const fastify = reply as unknown as {
    readonly statusCode: number;
    hijack(): void;
    getHeaders(): Readonly<Record<string, string | string[] | undefined>>;
  };
  fastify.hijack();
  raw.statusCode = fastify.statusCode;
  for (const [name, value] of Object.entries(fastify.getHeaders())) if (value !== undefined) raw.setHeader(name, value);
  return raw;
}

async function answer(
  harness: Harness<AnyRequest>,
  request: AnyRequest,
  reply: AnyReply,
  idempotency: Context | undefined,
): Promise<unknown> {
  let made: HarnessAnswer;
  try {
    made = await harness.handle({
      method: request.method,
      target: request.originalUrl,
      header: (name) => request.headers[name],
      body: request.body,
      idempotency,
    });
  } catch (error) {
    const { status } = error as { readonly status?: number };
    throw status === undefined ? error : new HttpException("planned failure", status);
  }
  if (made.way === "provided") return undefined;
  const response = reply.raw ?? (reply as unknown as ServerResponse);
  if (made.hints) response.writeEarlyHints({ link: "</style.css>; rel=preload; as=style" });
  reply.status(made.status);
  for (const name of new Set(made.headers.map(([each]) => each))) {
    const values = made.headers.filter(([each]) => each === name).map(([, value]) => value);
    setHeader(reply, name, values.length === 1 ? (values[0] ?? "") : values);
  }
  return ways[made.way]?.(made, reply);
}

/** A controller with one handler for every route of the harness. */
function controllerOf(harness: Harness<AnyRequest>, version: string | typeof VERSION_NEUTRAL): new () => object {
  class Things {}
  const prototype = Things.prototype as Record<string, unknown>;
  // Nest takes its time with every route, and these two are enough for the ways of `@Res()`.
  const routes = harness.routes.filter(({ name }) => version !== ownVersion || ["create", "small"].includes(name));
  for (const { name, paths, options } of routes) {
    const property = `handle ${name}`;
    prototype[property] = (request: AnyRequest, reply: AnyReply, idempotency?: Context) =>
      answer(harness, request, reply, idempotency);
    const descriptor = Object.getOwnPropertyDescriptor(prototype, property) as PropertyDescriptor;
    const mount = version === ownVersion ? Post : All;
    mount([...paths])(prototype, property, descriptor);
    Idempotent(options)(prototype, property, descriptor);
    Req()(prototype, property, 0);
    Res({ passthrough: version !== ownVersion })(prototype, property, 1);
    Idempotency()(prototype, property, 2);
  }
  Controller({ path: routePrefix, version })(Things);
  return Things;
}

function moduleOf(harness: Harness<AnyRequest>): new () => object {
  class App {}
  const idempotency = IdempotencyModule.forRoot({ ichido: harness.ichido, quietMs: 5_000 });
  Module({
    imports: [idempotency],
    controllers: ([ownVersion, VERSION_NEUTRAL] as const).map((version) => controllerOf(harness, version)),
  })(App);
  return App;
}

/** The outer layers; true when they have answered. */
function outerLayers(harness: Harness<AnyRequest>, request: IncomingMessage, response: ServerResponse): boolean {
  const { origin } = request.headers;
  const { preflight, lines } = corsLines(harness, { method: request.method ?? "", origin });
  for (const [name, value] of lines) response.setHeader(name, value);
  if (preflight) return response.writeHead(204).end() !== undefined;
  response.setHeader("X-Request-Serial", harness.serial());
  const status = harness.tokens.admit(request.headers.authorization);
  return status === 200 ? false : response.writeHead(status).end() !== undefined;
}

async function createExpress(harness: Harness<AnyRequest>): Promise<NestExpressApplication> {
  const app = await NestFactory.create<NestExpressApplication>(moduleOf(harness), new ExpressAdapter(), {
    logger: false,
  });
  app.use((request: IncomingMessage, response: ServerResponse, next: () => void) =>
    layerInFront(harness, request, response, next),
  );
  app.use((request: IncomingMessage, response: ServerResponse, next: () => void) => {
    if (!outerLayers(harness, request, response)) next();
  });
  if (harness.bodies === "captured") captureBody(app);
  app.useBodyParser("json", { limit: harness.jsonBytesMax });
  return app;
}

async function createFastify(harness: Harness<AnyRequest>): Promise<NestFastifyApplication> {
  const adapter = new FastifyAdapter({
    bodyLimit: harness.jsonBytesMax,
    forceCloseConnections: true,
    onProtoPoisoning: "ignore",
  });
  const app = await NestFactory.create<NestFastifyApplication>(moduleOf(harness), adapter, { logger: false });
  const fastify = adapter.getInstance();
  await fastifyLayer(harness, fastify as never);
  fastify.addHook("preParsing", async (request, _reply, payload) => {
    if (request.headers["content-encoding"] !== "gzip") return payload;
    const inflated: Readable & { receivedEncodedLength?: number } = payload.pipe(createGunzip());
    inflated.receivedEncodedLength = Number(request.headers["content-length"] ?? 0);
    return inflated;
  });
  fastify.addContentTypeParser("*", (_request, payload, done) => {
    payload.resume();
    payload.on("end", () => done(null, undefined));
  });
  fastify.addHook("onRequest", async (request, reply) => {
    const { preflight, lines } = corsLines(harness, { method: request.method, origin: request.headers.origin });
    for (const [name, value] of lines) reply.header(name, value);
    if (preflight) return reply.code(204).send();
    reply.header("X-Request-Serial", harness.serial());
    const status = harness.tokens.admit(request.headers.authorization);
    return status === 200 ? undefined : reply.code(status).send({ error: "refused by an outer layer" });
  });
  if (harness.bodies === "captured") captureBody(app);
  return app;
}

export async function startNest(platform: Platform, options: HarnessOptions): Promise<RunningApp> {
  const harness = createHarness<AnyRequest>(options, (request) => request.headers["authorization"]);
  const app = platform === "express" ? await createExpress(harness) : await createFastify(harness);
  app.enableVersioning({ type: VersioningType.CUSTOM, extractor: versionOf });
  await app.listen(0, "127.0.0.1");
  const server = app.getHttpServer();
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    harness: harness as unknown as Harness<never>,
    async close() {
      server.closeAllConnections();
      await app.close();
    },
  };
}

type NestSubject = Pick<AdapterSubject, "start" | "ways" | "layers" | "parsedBodies" | "skip">;

export function nestSubject(platform: Platform): NestSubject {
  const skip = { "M-01 QUERY": "Fastify itself refuses QUERY without a content type" };
  return {
    start: (options) => startNest(platform, options),
    ways: Object.keys(ways).filter((way) => way !== "send" && way !== "provided"),
    layers: allLayers,
    parsedBodies: true,
    ...(platform === "fastify" && { skip }),
  };
}
