/** Any `(Request) => Response` handler: Next.js route handlers, Bun, Deno, Workers; and server actions. */
import { engineOption, knownOptions, optionInvalid } from "../core/option-checks.ts";
import type { Context } from "../core/context.ts";
import { IchidoError } from "../core/errors.ts";
import type { NeutralRequest } from "../core/message.ts";
import type { Decider, RouteOptions } from "../core/options.ts";
import { bodyLimitsOf, bodyNames, type BodyOptions } from "../http/body-limits.ts";
import { withKeyField } from "../http/form-key.ts";
import { checkMountedOnce, forgetClaim, noteClaim } from "../http/mounts.ts";
import { neutralWebRequest } from "../http/web-request.ts";
import { settleWebResponse, webResponseOf } from "../http/web-response.ts";
import { letGoUpload } from "../http/web-upload.ts";

export { idempotentAction, type ActionOptions, type FormAction } from "./form-action.ts";

export type { BodyOptions };

export interface FetchWireOptions extends BodyOptions {
  /**
   * The hidden field of a form (urlencoded or multipart) that has the key where the header is absent: for forms that a
   * browser submits by itself. `IdempotencyField` of `ichido/react` calls it `idempotencyKey`. Default: the header alone.
   */
  readonly keyField?: string;
}

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
  wire: FetchWireOptions = {},
): (request: Request, ...rest: Rest) => Promise<Response> {
  engineOption(ichido);
  knownOptions("idempotent", wire, { ...bodyNames, keyField: true });
  const route = ichido.route(options);
  const limits = bodyLimitsOf(wire);
  const { keyField } = wire;
  if (keyField === "") throw optionInvalid("keyField", "the name of a field", keyField);

  async function neutral(request: Request): Promise<NeutralRequest<Request>> {
    const plain = neutralWebRequest({ request, native: request, limits, keyField });
    if (keyField === undefined || !route.methods.has(request.method)) return plain;
    return withKeyField(plain, { field: keyField, profile: route.profile });
  }

  function answerOf(response: Response | undefined): Response {
    if (response instanceof Response) return response;
    throw new IchidoError("usage-invalid", `${route.operation}: the handler returned nothing; return a Response`);
  }

  return async (request, ...rest) => {
    checkMountedOnce(request, route.operation);
    const decision = await ichido.decide(await neutral(request), route);
    if (decision.kind === "replay" || decision.kind === "reject") {
      letGoUpload(request);
      return webResponseOf(decision.response);
    }
    if (decision.kind === "pass") return answerOf(await handler(request, undefined, ...rest));
    const { execution } = decision;
    let response: Response | undefined;
    noteClaim(request, route.operation, execution);
    try {
      response = await handler(request, execution.context, ...rest);
    } catch (error) {
      letGoUpload(request);
      const settled = await execution.settle({ kind: "threw", error });
      if (settled.kind === "replace") return webResponseOf(settled.response);
      throw error;
    } finally {
      forgetClaim(request, route.operation);
    }
    letGoUpload(request, response);
    if (response instanceof Response) return settleWebResponse(response, execution);
    const settled = await execution.settle({ kind: "threw", error: new Error("the handler returned nothing") });
    return settled.kind === "replace" ? webResponseOf(settled.response) : answerOf(undefined);
  };
}
