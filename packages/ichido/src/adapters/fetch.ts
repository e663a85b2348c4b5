/** Any `(Request) => Response` handler: Next.js route handlers, Bun, Deno, Workers. */
import type { Context } from "../core/context.ts";
import { IchidoError } from "../core/errors.ts";
import type { Decider, RouteOptions } from "../core/options.ts";
import { requestBytesMaxOf, type BodyOptions } from "../http/node-guard.ts";
import { neutralWebRequest } from "../http/web-request.ts";
import { settleWebResponse, webResponseOf } from "../http/web-response.ts";

/**
 * `rest` is whatever the platform passes beside the request (route parameters, environment, execution context). The
 * context is undefined where the request is not protected.
 */
export type FetchHandler<Rest extends readonly unknown[]> = (
  request: Request,
  idempotency: Context | undefined,
  ...rest: Rest
) => Response | undefined | Promise<Response | undefined>;

/**
 * Wraps a handler: `export const POST = idempotent(ichido, { operation: "payment.create" }, async (request, ctx) => …)`.
 * A handler that answered through `ctx.transaction` or `ctx.unknown` may return nothing.
 */
export function idempotent<Rest extends readonly unknown[] = []>(
  ichido: Decider<Request>,
  options: RouteOptions<Request>,
  handler: FetchHandler<Rest>,
  wire: BodyOptions = {},
): (request: Request, ...rest: Rest) => Promise<Response> {
  const route = ichido.route(options);
  const requestBytesMax = requestBytesMaxOf(wire);

  function answerOf(response: Response | undefined): Response {
    if (response instanceof Response) return response;
    throw new IchidoError("option-invalid", `${route.operation}: the handler returned nothing; return a Response`);
  }

  return async (request, ...rest) => {
    const decision = await ichido.decide(neutralWebRequest({ request, native: request, requestBytesMax }), route);
    if (decision.kind === "replay" || decision.kind === "reject") return webResponseOf(decision.response);
    if (decision.kind === "pass") return answerOf(await handler(request, undefined, ...rest));
    const { execution } = decision;
    let response: Response | undefined;
    try {
      response = await handler(request, execution.context, ...rest);
    } catch (error) {
      const settled = await execution.settle({ kind: "threw", error });
      if (settled.kind === "replace") return webResponseOf(settled.response);
      throw error;
    }
    if (response instanceof Response) return settleWebResponse(response, execution);
    const settled = await execution.settle({ kind: "threw", error: new Error("the handler returned nothing") });
    return settled.kind === "replace" ? webResponseOf(settled.response) : answerOf(undefined);
  };
}
