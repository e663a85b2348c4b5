/** What every adapter on Node's own request and response does: ask, and answer or let the handler run under capture. */
import { engineOption, type OptionNames } from "../core/contract/option-checks.ts";
import type { ServerResponse } from "node:http";
import type { Execution } from "../core/contract/decision.ts";
import type { NeutralResponse } from "../core/contract/message.ts";
import type { Decider, RouteOptions, ResolvedRoute } from "../core/contract/options.ts";
import { checkMountedOnce, noteClaim } from "../core/engine/mounts.ts";
import { bodyLimitsOf, bodyNames, positiveOption, type BodyOptions } from "./body-limits.ts";
import { endOfIteration } from "./end-of-iteration.ts";
import { isClosed } from "./http2.ts";
import { capturedBytes, NodeNeutralRequest, type NodeRequest } from "./node-request.ts";
import { captureResponse, quietMsDefault, type Capture, type CaptureSettings } from "./node-response.ts";

export interface WireOptions extends BodyOptions {
  /** How long a half-written answer to a client that went away may stay silent. Default 30 s. */
  readonly quietMs?: number;
}

export const wireNames: OptionNames<WireOptions> = { ...bodyNames, quietMs: true };

/** What the adapter does with a request. */
export type Verdict<Tx = unknown> =
  /** The handler runs, unprotected. */
  | { readonly kind: "pass" }
  /**
   * The handler must not run. Without `response` nothing is sent: the connection is dead, or another layer has
   * answered.
   */
  | { readonly kind: "answer"; readonly response?: NeutralResponse }
  | Run<Tx>;

/** The handler runs after `capture`: its answer is held until the outcome is recorded. */
export interface Run<Tx = unknown> {
  readonly kind: "run";
  readonly execution: Execution<Tx>;
  /** `provide` is for frameworks that hand answers over before they write them. */
  capture(this: void, provide?: CaptureSettings["provide"]): Capture;
}

export interface NodeGuard<Native, Tx = unknown> {
  readonly route: ResolvedRoute<Native>;
  /** `native`: the framework's own request, for `scope` and `labels`. */
  guard(this: void, request: NodeRequest, response: ServerResponse, native: Native): Promise<Verdict<Tx>>;
}

/** The handler could not work: another layer has answered, or the connection closed before the body was read. */
function cannotRun(request: NodeRequest, response: ServerResponse): boolean {
  const hasUnreadBody = !request.readableEnded && (request.readableLength > 0 || !request.complete);
  return response.headersSent || response.writableEnded || (hasUnreadBody && request.socket.destroyed);
}

/** An upload that waits in a file is dropped once the answer is out: no handler reads it after that. */
function letGoAfter(request: NodeRequest, response: ServerResponse): void {
  const capture = capturedBytes(request);
  if (capture?.letGo === undefined) return;
  if (isClosed(response)) capture.letGo();
  else response.once("close", () => capture.letGo?.());
}

function giveBack(execution: Execution): void {
  execution.context.release();
  void execution.settle({ kind: "threw", error: new Error("the handler was not called") });
}

export function createNodeGuard<Native, Tx = unknown>(
  ichido: Decider<Native, Tx>,
  options: RouteOptions<Native>,
  wire: WireOptions = {},
  mountedFor?: readonly string[],
): NodeGuard<Native, Tx> {
  engineOption(ichido);
  const route = ichido.route(options, mountedFor);
  const limits = bodyLimitsOf(wire);
  const quietMs = positiveOption("quietMs", wire.quietMs ?? quietMsDefault);

  return {
    route,
    async guard(request, response, native) {
      checkMountedOnce(request, route.operation);
      await endOfIteration();
      const decision = await ichido.decide(new NodeNeutralRequest(request, limits, native), route);
      if (decision.kind !== "execute") {
        letGoAfter(request, response);
        return decision.kind === "pass" ? decision : { kind: "answer", response: decision.response };
      }
      const { execution } = decision;
      if (cannotRun(request, response)) {
        giveBack(execution);
        letGoAfter(request, response);
        return { kind: "answer" };
      }
      noteClaim(request, route.operation, execution);
      return {
        kind: "run",
        execution,
        capture(provide) {
          const capture = captureResponse(request, response, execution, { quietMs, provide });
          // Under a capture the response emits `close` only when the answer is settled.
          letGoAfter(request, response);
          return capture;
        },
      };
    },
  };
}
