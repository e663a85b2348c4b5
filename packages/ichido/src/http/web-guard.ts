/**
 * What every adapter on web `Request` and `Response` does: ask, answer, or let the handler run and settle its answer.
 */
import type { Context } from "../core/contract/context.ts";
import type { NeutralRequest } from "../core/contract/message.ts";
import { engineOption } from "../core/contract/option-checks.ts";
import type { Decider, ResolvedRoute, RouteOptions } from "../core/contract/options.ts";
import { checkMountedOnce, forgetClaim, noteClaim } from "../core/engine/mounts.ts";
import { settleWebResponse, webResponseOf } from "./web-response.ts";
import { letGoUpload } from "./web-upload.ts";

export interface WebExchange<Native, Tx = unknown> {
  readonly request: Request;
  readonly neutral: () => NeutralRequest<Native> | Promise<NeutralRequest<Native>>;
  /**
   * The handler. Without a context the request is not protected. It may return nothing where its context has answered.
   */
  readonly run: (context: Context<Tx> | undefined) => Promise<Response | undefined>;
}

export interface WebGuard<Native, Tx = unknown> {
  readonly route: ResolvedRoute<Native>;
  /** The answer to send; undefined where the handler gave none. */
  readonly guard: (exchange: WebExchange<Native, Tx>) => Promise<Response | undefined>;
}

export function createWebGuard<Native, Tx>(
  ichido: Decider<Native, Tx>,
  options: RouteOptions<Native>,
): WebGuard<Native, Tx> {
  engineOption(ichido);
  const route = ichido.route(options);
  return {
    route,
    async guard({ request, neutral, run }) {
      checkMountedOnce(request, route.operation);
      const decision = await ichido.decide(await neutral(), route);
      if (decision.kind === "replay" || decision.kind === "reject") {
        letGoUpload(request);
        return webResponseOf(decision.response);
      }
      if (decision.kind === "pass") return run(undefined);
      const { execution } = decision;
      /** An answer that the context made stays the answer, whatever the handler does afterwards. */
      const provided = async (error: unknown): Promise<Response | undefined> => {
        const settled = await execution.settle({ kind: "threw", error });
        return settled.kind === "replace" ? webResponseOf(settled.response) : undefined;
      };
      let response: Response | undefined;
      noteClaim(request, route.operation, execution);
      try {
        response = await run(execution.context);
      } catch (error) {
        letGoUpload(request);
        const answer = await provided(error);
        if (answer === undefined) throw error;
        return answer;
      } finally {
        forgetClaim(request, route.operation);
      }
      letGoUpload(request, response);
      if (response !== undefined) return settleWebResponse(response, execution);
      return provided(new Error("the handler returned nothing"));
    },
  };
}
