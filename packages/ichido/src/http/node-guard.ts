/** What every adapter on Node's own request and response does: ask, answer or let the handler run under capture. */
import { engineOption, type OptionNames } from "../core/contract/option-checks.ts";
import type { ServerResponse } from "node:http";
import type { Execution } from "../core/contract/decision.ts";
import type { NeutralRequest, NeutralResponse } from "../core/contract/message.ts";
import type { Decider, RouteOptions, ResolvedRoute } from "../core/contract/options.ts";
import { bodyLimitsOf, bodyNames, positiveOption, type BodyOptions } from "./body-limits.ts";
import { isClosed } from "./http2.ts";
import { checkMountedOnce, noteClaim } from "./mounts.ts";
import { neutralRequest, type NodeRequest } from "./node-request.ts";
import { captureResponse, quietMsDefault, type Capture, type CaptureSettings } from "./node-response.ts";
import { capturedBytes } from "./request-bytes.ts";
import { sendAnswer } from "./send.ts";

export interface WireOptions extends BodyOptions {
  /** How long a half-written answer to a client that went away may stay silent. Default 30 s. */
  readonly quietMs?: number;
}

export const wireNames: OptionNames<WireOptions> = { ...bodyNames, quietMs: true };

export interface Exchange<Native, Tx = unknown> {
  readonly request: NodeRequest;
  readonly response: ServerResponse;
  /** The framework's own request, for `scope` and `labels`. */
  readonly native: Native;
  /** How the layer's own answers are written. Default: straight on the response. */
  readonly answer?: (response: NeutralResponse) => unknown;
  /** Last chance before the handler, with the execution at hand. */
  readonly prepare?: (execution: Execution<Tx>) => void;
  /** For frameworks that hand answers over before they write them. */
  readonly captured?: (capture: Capture) => void;
  readonly provide?: CaptureSettings["provide"];
}

/** `run`: the handler's turn. `answered`: it must not run. */
export type Verdict = "run" | "answered";

export interface NodeGuard<Native, Tx = unknown> {
  readonly route: ResolvedRoute<Native>;
  readonly guard: (exchange: Exchange<Native, Tx>) => Promise<Verdict>;
}

/** The handler cannot be given a fair run: somebody has answered, or its body went down with the connection. */
function cannotRun(request: NodeRequest, response: ServerResponse): boolean {
  const hasUnreadBody = !request.readableEnded && (request.readableLength > 0 || !request.complete);
  return response.headersSent || response.writableEnded || (hasUnreadBody && request.socket.destroyed);
}

/** An upload that waits in a file for a reader has none any more once the answer is out. */
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
    async guard({ request, response, native, answer, prepare, captured, provide }) {
      const neutral: NeutralRequest<Native> = { ...neutralRequest(request, limits), native };
      checkMountedOnce(request, route.operation);
      const decision = await ichido.decide(neutral, route);
      // Under a capture the response tells of its end when the answer is settled.
      if (decision.kind !== "execute") letGoAfter(request, response);
      switch (decision.kind) {
        case "pass":
          return "run";
        case "replay":
        case "reject":
          if (answer === undefined) sendAnswer(response, decision.response);
          else answer(decision.response);
          return "answered";
        case "execute": {
          if (cannotRun(request, response)) {
            giveBack(decision.execution);
            letGoAfter(request, response);
            return "answered";
          }
          noteClaim(request, route.operation, decision.execution);
          prepare?.(decision.execution);
          const capture = captureResponse(request, response, decision.execution, { quietMs, provide });
          captured?.(capture);
          letGoAfter(request, response);
          return "run";
        }
      }
    },
  };
}
