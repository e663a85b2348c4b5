import type { IncomingMessage, RequestListener } from "node:http";
import { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { captureBody, idempotency, type IdempotencyState, type KoaContext } from "../../adapters/koa.ts";
import { createHarness, type Harness } from "../../testing/adapter-suite/index.ts";
import { linesByName, nodeCall, parseJson, pieces, type BuildApplication } from "./application.ts";
import { routeNameOf } from "./node-application.ts";

type Ctx = KoaContext & {
  readonly request: { body?: unknown };
  readonly originalUrl: string;
  status: number;
  body: unknown;
  set(name: string, value: string | string[]): void;
  throw(status: number, message: string): never;
};
type Middleware = (ctx: Ctx, next: () => Promise<unknown>) => Promise<unknown>;
type Framework = new () => { silent: boolean; use(middleware: Middleware): unknown; callback(): RequestListener };

async function collect(source: AsyncIterable<Uint8Array>, bytesMax: number): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of source) {
    length += chunk.length;
    if (length > bytesMax) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
}

/** Koa has no parser of its own. */
function jsonParser(bytesMax: number): Middleware {
  return async (ctx, next) => {
    const { req }: { readonly req: IncomingMessage } = ctx;
    const type = req.headers["content-type"];
    if (/json/i.test(type ?? "") && req.method !== "GET" && req.method !== "HEAD") {
      const isCoded = req.headers["content-encoding"] === "gzip";
      const bytes = await collect(isCoded ? req.pipe(createGunzip()) : req, bytesMax);
      if (bytes === undefined) return ctx.throw(413, "too large");
      try {
        ctx.request.body = parseJson(type, bytes);
      } catch {
        ctx.throw(400, "bad JSON");
      }
    }
    return next();
  };
}

export const buildKoa: BuildApplication = async (options, load) => {
  const { default: Koa } = (await load("koa")) as { readonly default: Framework };
  const harness = createHarness<Ctx>(options, (ctx) => ctx.req.headers.authorization);
  const app = new Koa();
  app.silent = true;
  app.use((ctx, next) => captureBody()(ctx, next));
  app.use(jsonParser(harness.jsonBytesMax));
  const guards = new Map(
    harness.routes.map(({ name, options: route }) => [name, idempotency<Ctx>(harness.ichido, route)]),
  );

  async function answer(ctx: Ctx): Promise<void> {
    const { idempotency: context } = ctx.state as IdempotencyState;
    const made = await harness.handle(nodeCall(ctx.req, context, ctx.request.body));
    ctx.status = made.status;
    if (made.way === "stream") ctx.body = Readable.from(pieces(made.body));
    else ctx.body = made.body.length === 0 ? null : Buffer.from(made.body);
    for (const [name, value] of linesByName(made)) ctx.set(name, value);
    ctx.status = made.status;
  }

  app.use(async (ctx) => guards.get(routeNameOf(ctx.originalUrl))?.(ctx, () => answer(ctx)));
  return { harness: harness as unknown as Harness<never>, listener: app.callback() };
};
