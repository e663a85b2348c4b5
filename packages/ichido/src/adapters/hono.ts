/** Hono 4: `app.post("/payments", idempotency(ichido, options), handler)`; the handler finds `c.var.idempotency`. */
import { knownOptions } from "../core/contract/option-checks.ts";
import type { Context } from "../core/contract/context.ts";
import type { Decider, RouteOptions } from "../core/contract/options.ts";
import { bodyLimitsOf, bodyNames, type BodyOptions } from "../http/body-limits.ts";
import { createWebGuard } from "../http/web-guard.ts";
import { neutralWebRequest } from "../http/web-request.ts";

/** For `new Hono<{ Variables: IdempotencyVariables }>()`. Present in the handler of a request that is protected. */
export interface IdempotencyVariables<Tx = unknown> {
  idempotency: Context<Tx>;
}

/** What the middleware needs from Hono's context. */
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
  const { guard } = createWebGuard(ichido, options);
  knownOptions("idempotency", wire, bodyNames);
  const limits = bodyLimitsOf(wire);
  return async function idempotency(c, next) {
    const { raw } = c.req;
    // Hono keeps what it has read, so a body that an earlier middleware parsed is still there.
    const bytes = raw.bodyUsed ? async () => new Uint8Array(await c.req.arrayBuffer()) : undefined;
    let isProtected = false;
    const answer = await guard({
      request: raw,
      neutral: () => neutralWebRequest({ request: raw, native: c, limits, ...(bytes && { bytes }) }),
      async run(context) {
        isProtected = context !== undefined;
        if (context !== undefined) c.set("idempotency", context);
        // Hono answers an Error that the handler throws before this returns; any other value is thrown on.
        await next();
        return isProtected ? c.res : undefined;
      },
    });
    if (!isProtected) return answer;
    if (answer === c.res) return undefined;
    // Without this Hono would put the handler's header lines in place of those of a replacement.
    c.res = undefined;
    c.res = answer;
    return undefined;
  };
}
