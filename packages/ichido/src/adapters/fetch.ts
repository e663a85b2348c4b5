/** Any `(Request) => Response` handler: Next.js route handlers, Bun, Deno, Workers; and server actions. */
import { knownOptions, optionInvalid } from "../core/contract/option-checks.ts";
import type { Context } from "../core/contract/context.ts";
import { IchidoError } from "../core/contract/errors.ts";
import type { NeutralRequest } from "../core/contract/message.ts";
import type { Decider, RouteOptions } from "../core/contract/options.ts";
import { bodyLimitsOf, bodyNames, type BodyOptions } from "../http/body-limits.ts";
import { withKeyField } from "../http/form-key.ts";
import { createWebGuard } from "../http/web-guard.ts";
import { neutralWebRequest } from "../http/web-request.ts";

export { idempotentAction, type ActionOptions, type FormAction } from "./form-action.ts";

export type { BodyOptions };

export interface FetchWireOptions extends BodyOptions {
  /**
   * The hidden field of a form (urlencoded or multipart) that has the key where the header is absent: for forms that a
   * browser submits by itself. `IdempotencyField` of `ichido/react` calls it `idempotencyKey`. Default: the header
   * alone.
   */
  readonly keyField?: string;
}

/**
 * `rest` is whatever the platform passes beside the request (route parameters, environment, execution context). The
 * context is undefined where the request is not protected.
 */
export type FetchHandler<Rest extends readonly unknown[], Tx = unknown> = (
  request: Request,
  idempotency: Context<Tx> | undefined,
  ...rest: Rest
) => Response | undefined | Promise<Response | undefined>;

/**
 * Wraps a handler: `export const POST = idempotent(ichido, { operation: "payment.create" }, async (request, ctx) =>
 * …)`. A handler that answered through `ctx.transaction` or `ctx.unknown` may return nothing.
 */
export function idempotent<Rest extends readonly unknown[] = [], Tx = unknown>(
  ichido: Decider<Request, Tx>,
  options: RouteOptions<Request>,
  handler: FetchHandler<Rest, Tx>,
  wire: FetchWireOptions = {},
): (request: Request, ...rest: Rest) => Promise<Response> {
  const { guard, route } = createWebGuard(ichido, options);
  knownOptions("idempotent", wire, { ...bodyNames, keyField: true });
  const limits = bodyLimitsOf(wire);
  const { keyField } = wire;
  if (keyField === "") throw optionInvalid("keyField", "the name of a field", keyField);

  function neutral(request: Request): NeutralRequest<Request> | Promise<NeutralRequest<Request>> {
    const plain = neutralWebRequest({ request, native: request, limits, keyField });
    if (keyField === undefined || !route.methods.has(request.method)) return plain;
    return withKeyField(plain, { field: keyField, profile: route.profile });
  }

  return async (request, ...rest) => {
    const answer = await guard({
      request,
      neutral: () => neutral(request),
      async run(context) {
        const response = await handler(request, context, ...rest);
        return response instanceof Response ? response : undefined;
      },
    });
    if (answer !== undefined) return answer;
    throw new IchidoError("usage-invalid", `${route.operation}: the handler returned nothing; return a Response`);
  };
}
