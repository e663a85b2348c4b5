import type { Context } from "../../core/contract/context.ts";
import { idempotency, type HonoContext } from "../../adapters/hono.ts";
import { createHarness, routePrefix, type Harness } from "../../testing/adapter-suite/index.ts";
import type { BuildApplication } from "./application.ts";
import { callOf, refuseBody, responseOf } from "./fetch-application.ts";
import { webListener } from "./web-listener.ts";

type Ctx = HonoContext & { readonly var: { readonly idempotency?: Context } };
type Handler = (c: Ctx, next: () => Promise<void>) => Promise<Response | void> | Response;

interface HonoLike {
  use(handler: Handler): unknown;
  all(path: string, ...handlers: readonly Handler[]): unknown;
  onError(handler: () => Response): unknown;
  fetch(request: Request): Response | Promise<Response>;
}

export const buildHono: BuildApplication = async (options, load) => {
  const { Hono } = (await load("hono")) as { readonly Hono: new () => HonoLike };
  const harness = createHarness<Ctx>(options, (c) => c.req.raw.headers.get("authorization") ?? undefined);
  const app = new Hono();
  app.use(async (c, next) => (await refuseBody(c.req.raw, harness.jsonBytesMax)) ?? next());
  for (const { paths, options: route } of harness.routes) {
    const handler: Handler = async (c) => responseOf(await harness.handle(callOf(c.req.raw, c.var.idempotency)));
    for (const path of paths) app.all(routePrefix + path, idempotency<Ctx>(harness.ichido, route), handler);
  }
  app.onError(() => new Response(null, { status: 500 }));
  return { harness: harness as unknown as Harness<never>, listener: webListener((request) => app.fetch(request)) };
};
