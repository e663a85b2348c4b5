/** Koa 3. `captureBody()` before the body parser, `idempotency(ichido, options)` before the handler. */
import type { ServerResponse } from "node:http";
import type { Context } from "../core/context.ts";
import type { Decider, RouteOptions } from "../core/options.ts";
import { bodyLimitsOf, type BodyOptions } from "../http/body-limits.ts";
import { createNodeGuard, type WireOptions } from "../http/node-guard.ts";
import type { NodeRequest } from "../http/node-request.ts";
import { captureBytes } from "../http/request-bytes.ts";

/** What the middleware needs of Koa's context. */
export interface KoaContext {
  readonly req: NodeRequest;
  readonly res: ServerResponse;
  readonly request: object;
  respond?: boolean | undefined;
  readonly state: object;
}

/** For `new Koa<IdempotencyState>()`. Present in the handler of a request that is protected. */
export interface IdempotencyState {
  idempotency?: Context;
}

export type KoaNext = () => Promise<unknown>;
export type KoaMiddleware<Ctx> = (ctx: Ctx, next: KoaNext) => Promise<void>;

/** Notes the bytes of the request as they pass to the body parser, so that requests are compared by what was sent. */
export function captureBody(options: BodyOptions = {}): KoaMiddleware<Pick<KoaContext, "req">> {
  const limits = bodyLimitsOf(options);
  return async (ctx, next) => {
    captureBytes(ctx.req, limits);
    await next();
  };
}

/** Protects what comes after it; the handler finds `ctx.state.idempotency`. */
export function idempotency<Ctx extends KoaContext>(
  ichido: Decider<Ctx>,
  options: RouteOptions<Ctx>,
  wire: WireOptions = {},
): KoaMiddleware<Ctx> {
  const { guard } = createNodeGuard(ichido, options, wire);
  return async (ctx, next) => {
    const { body } = ctx.request as { readonly body?: unknown };
    if (body !== undefined) ctx.req.body ??= body;
    const verdict = await guard({
      request: ctx.req,
      response: ctx.res,
      native: ctx,
      prepare: (execution) => {
        (ctx.state as IdempotencyState).idempotency = execution.context;
        void execution.provided.then(() => {
          ctx.respond = false;
        });
      },
    });
    if (verdict === "run") await next();
    else ctx.respond = false;
  };
}
