/** Hono 4: `app.post("/payments", idempotency(ichido, options), handler)`; the handler finds `c.var.idempotency`. */
import { engineOption, knownOptions } from "../core/option-checks.ts";
import type { Context } from "../core/context.ts";
import type { Decider, RouteOptions } from "../core/options.ts";
import { bodyLimitsOf, bodyNames, type BodyOptions } from "../http/body-limits.ts";
import { checkMountedOnce, forgetClaim, noteClaim } from "../http/mounts.ts";
import { neutralWebRequest } from "../http/web-request.ts";
import { settleWebResponse, webResponseOf } from "../http/web-response.ts";
import { letGoUpload } from "../http/web-upload.ts";

/** For `new Hono<{ Variables: IdempotencyVariables }>()`. Present in the handler of a request that is protected. */
export interface IdempotencyVariables {
  idempotency: Context;
}

/** What the middleware needs of Hono's context. */
export interface HonoContext {
  readonly req: { readonly raw: Request; arrayBuffer(): Promise<ArrayBuffer> };
  set(key: "idempotency", value: Context): void;
  get res(): Response;
  set res(response: Response | undefined);
}

export type { BodyOptions };
export type HonoMiddleware<Ctx> = (c: Ctx, next: () => Promise<void>) => Promise<Response | void>;

export function idempotency<Ctx extends HonoContext>(
  ichido: Decider<Ctx>,
  options: RouteOptions<Ctx>,
  wire: BodyOptions = {},
): HonoMiddleware<Ctx> {
  engineOption(ichido);
  knownOptions("idempotency", wire, bodyNames);
  const route = ichido.route(options);
  const limits = bodyLimitsOf(wire);
  return async function idempotency(c, next) {
    const { raw } = c.req;
    checkMountedOnce(raw, route.operation);
    // Hono keeps what it has read, so a body that an earlier middleware parsed is still there.
    const bytes = raw.bodyUsed ? async () => new Uint8Array(await c.req.arrayBuffer()) : undefined;
    const request = neutralWebRequest({ request: raw, native: c, limits, ...(bytes && { bytes }) });
    const decision = await ichido.decide(request, route);
    if (decision.kind === "replay" || decision.kind === "reject") {
      letGoUpload(raw);
      return webResponseOf(decision.response);
    }
    if (decision.kind === "pass") return next();
    const { execution } = decision;
    c.set("idempotency", execution.context);
    noteClaim(raw, route.operation, execution);
    try {
      // Hono turns an Error that the handler throws into its error answer before this returns; anything else passes.
      await next();
    } catch (error) {
      letGoUpload(raw);
      await execution.settle({ kind: "threw", error });
      throw error;
    } finally {
      forgetClaim(raw, route.operation);
    }
    letGoUpload(raw, c.res);
    const settled = await settleWebResponse(c.res, execution);
    // Without this Hono would lay the handler's header lines over those of a replacement.
    c.res = undefined;
    c.res = settled;
    return undefined;
  };
}
