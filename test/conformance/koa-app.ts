/** The harness's application in Koa. */
import { Readable } from "node:stream";
import Koa from "koa";
import compress from "koa-compress";
import { captureBody, idempotency } from "ichido/koa";
import type { AdapterSubject, Harness, HarnessAnswer, HarnessOptions, Layer, RunningApp } from "ichido/testing";
import { createServer } from "node:http";
import { createGunzip } from "node:zlib";
import { createHarness, signatureOf } from "../../packages/ichido/src/testing/adapter-suite/harness.ts";
import { routePrefix } from "../../packages/ichido/src/testing/adapter-suite/routes.ts";
import { collect, corsLines, listening, parseJson, pieces } from "./answers.ts";
import { allLayers, changeInEnd, isJson } from "./layers.ts";

type Ctx = Koa.Context & { request: { body?: unknown } };
type Way = (ctx: Ctx, answer: HarnessAnswer) => unknown;

/** Every way in which Koa applications make answers. */
const ways: Readonly<Record<string, Way>> = {
  send: (ctx, { body }) => (ctx.body = body.length === 0 ? null : Buffer.from(body)),
  json: (ctx, { json }) => (ctx.body = json),
  chunks: (ctx, { body }) => (ctx.body = Readable.from(pieces(body))),
  raw(ctx, { status, headers, body }) {
    ctx.respond = false;
    for (const [name] of headers) ctx.res.removeHeader(name);
    ctx.res.writeHead(status, headers.flat());
    for (const piece of pieces(body)) ctx.res.write(piece);
    ctx.res.end();
  },
  void: (ctx) => {
    ctx.body = null;
    ctx.remove("content-type");
  },
  async events(ctx, { events }) {
    ctx.respond = false;
    ctx.res.writeHead(200, { "content-type": "text/event-stream" });
    for await (const event of events) ctx.res.write(event);
    ctx.res.end();
  },
  "events by stream": (ctx, { events }) => {
    ctx.type = "text/event-stream";
    ctx.body = Readable.from(events);
  },
  flush: (ctx, { events }) => {
    ctx.flushHeaders();
    ctx.body = Readable.from(events);
  },
  hints: () => undefined,
  provided: () => undefined,
};

const layers: Readonly<Record<Layer, (harness: Harness<Ctx>) => Koa.Middleware>> = {
  compression: () => compress({ threshold: 0, br: false, zstd: false } as object),
  envelope: () => async (ctx, next) => {
    await next();
    const { body } = ctx as { readonly body: unknown };
    if (!isJson(ctx.response.get("content-type"))) return;
    const isBytes = typeof body === "string" || Buffer.isBuffer(body);
    ctx.body = { data: isBytes ? (JSON.parse(body.toString()) as unknown) : body };
  },
  /** Both ways of theirs: on Node's response, and after `next()`. */
  signature: (harness) => async (ctx, next) => {
    changeInEnd(ctx.res, (content) => {
      ctx.res.setHeader("X-Signature", signatureOf(content));
      return content;
    });
    await next();
    ctx.set("X-Served", harness.serial());
  },
};

export async function startKoa(options: HarnessOptions, serverOf = createServer): Promise<RunningApp> {
  const harness = createHarness<Ctx>(options, (ctx) => ctx.get("authorization") || undefined);
  const app = new Koa();
  app.silent = true;
  if (harness.layer !== undefined) app.use(layers[harness.layer](harness));
  app.use(async (ctx, next) => {
    const { preflight, lines } = corsLines(harness, { method: ctx.method, origin: ctx.get("origin") || undefined });
    for (const [name, value] of lines) ctx.set(name, value);
    if (preflight) {
      ctx.status = 204;
      return;
    }
    ctx.set("X-Request-Serial", harness.serial());
    const status = harness.tokens.admit(ctx.get("authorization") || undefined);
    if (status === 200) await next();
    else {
      ctx.status = status;
      ctx.body = { error: "refused by an outer layer" };
    }
  });
  if (harness.bodies === "captured") app.use(captureBody());
  app.use(async (ctx: Ctx, next) => {
    const isJson = /json/i.test(ctx.get("content-type"));
    if (isJson && ctx.method !== "GET" && ctx.method !== "HEAD") {
      const coding = ctx.get("content-encoding");
      const source = coding === "gzip" ? ctx.req.pipe(createGunzip()) : ctx.req;
      const body = await collect(source, harness.jsonBytesMax);
      if (body === undefined) ctx.throw(413, "too large");
      try {
        ctx.request.body = parseJson(ctx.get("content-type"), body);
      } catch {
        ctx.throw(400, "bad JSON");
      }
    }
    await next();
  });
  for (const route of harness.routes) {
    const protect = idempotency<Ctx>(harness.ichido, route.options, { quietMs: 5_000 });
    const base = `${routePrefix}/${route.name}`;
    app.use(async (ctx: Ctx, next) => {
      const rest = ctx.path.startsWith(base) ? ctx.path.slice(base.length) : undefined;
      if (rest === undefined || !/^(?:\/[^/]+)?$/.test(rest)) return next();
      return protect(ctx, () => answer(ctx));
    });
  }

  async function answer(ctx: Ctx): Promise<void> {
    const made = await harness.handle({
      method: ctx.method,
      target: ctx.originalUrl,
      header: (name) => ctx.get(name) || undefined,
      body: ctx.request.body,
      idempotency: ctx.state["idempotency"] as never,
    });
    if (made.way === "provided") return;
    if (made.hints) ctx.res.writeEarlyHints({ link: "</style.css>; rel=preload; as=style" });
    ctx.status = made.status;
    for (const [name, value] of made.headers) ctx.append(name, value);
    await ways[made.way]?.(ctx, made);
    if (made.way !== "void" && made.way !== "raw" && made.way !== "events") ctx.status = made.status;
  }

  const listener = app.callback();
  return listening(
    serverOf((request, response) => void listener(request, response)),
    harness,
  );
}

export const koaSubject: Pick<AdapterSubject, "start" | "ways" | "layers" | "parsedBodies"> = {
  start: (options) => startKoa(options),
  layers: allLayers,
  ways: Object.keys(ways).filter((way) => way !== "send" && way !== "provided"),
  parsedBodies: true,
};
