/** Express 4 and 5. `captureBody()` before the body parser, `idempotency(ichido, options)` before the handler. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Context } from "../core/context.ts";
import type { Decision, Execution } from "../core/decision.ts";
import { IchidoError } from "../core/errors.ts";
import type { Decider, RouteOptions } from "../core/options.ts";
import { neutralRequest, type NodeRequest } from "../http/node-request.ts";
import { captureResponse, quietMsDefault } from "../http/node-response.ts";
import { captureBytes, requestBytesMaxDefault } from "../http/request-bytes.ts";
import { sendAnswer } from "../http/send.ts";

declare global {
  namespace Express {
    interface Request {
      /** Present in the handler of a request that is protected. */
      idempotency?: Context;
    }
  }
}

/** What the middleware needs of a request; Express's own `Request` has it. */
export type ExpressRequest = NodeRequest & { idempotency?: Context };
export type ExpressNext = (error?: unknown) => void;
export type ExpressMiddleware<Request> = (request: Request, response: ServerResponse, next: ExpressNext) => void;

export interface BodyOptions {
  /** Larger request bodies are refused with 413 before anything is claimed. Default 10 MiB. */
  readonly requestBytesMax?: number;
}

export interface WireOptions extends BodyOptions {
  /** How long a half-written answer to a client that went away may stay silent. Default 30 s. */
  readonly quietMs?: number;
}

function positive(option: string, value: number): number {
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new IchidoError("option-invalid", `option ${option}: expected a positive integer, got ${String(value)}`);
}

/** Notes the bytes of the request as they pass to the body parser, so that requests are compared by what was sent. */
export function captureBody(options: BodyOptions = {}): ExpressMiddleware<IncomingMessage> {
  const requestBytesMax = positive("requestBytesMax", options.requestBytesMax ?? requestBytesMaxDefault);
  return (request, _response, next) => {
    captureBytes(request, requestBytesMax);
    next();
  };
}

/** The handler cannot be given a fair run: somebody has answered, or its body went down with the connection. */
function cannotRun(request: ExpressRequest, response: ServerResponse): boolean {
  const hasUnreadBody = !request.readableEnded && (request.readableLength > 0 || !request.complete);
  return response.headersSent || response.writableEnded || (hasUnreadBody && request.socket.destroyed);
}

function giveBack(execution: Execution): void {
  execution.context.release();
  void execution.settle({ kind: "threw", error: new Error("the handler was not called") });
}

export function idempotency<Request extends ExpressRequest>(
  ichido: Decider<Request>,
  options: RouteOptions<Request>,
  wire: WireOptions = {},
): ExpressMiddleware<Request> {
  const route = ichido.route(options);
  const requestBytesMax = positive("requestBytesMax", wire.requestBytesMax ?? requestBytesMaxDefault);
  const quietMs = positive("quietMs", wire.quietMs ?? quietMsDefault);

  /** True: the handler's turn. */
  function obey(decision: Decision, request: Request, response: ServerResponse): boolean {
    switch (decision.kind) {
      case "pass":
        return true;
      case "replay":
      case "reject":
        sendAnswer(response, decision.response);
        return false;
      case "execute":
        if (cannotRun(request, response)) {
          giveBack(decision.execution);
          return false;
        }
        request.idempotency = decision.execution.context;
        captureResponse(request, response, decision.execution, { quietMs });
        return true;
    }
  }

  async function serve(request: Request, response: ServerResponse, next: ExpressNext): Promise<void> {
    let goesOn: boolean;
    try {
      goesOn = obey(await ichido.decide(neutralRequest(request, { requestBytesMax }), route), request, response);
    } catch (error) {
      next(error);
      return;
    }
    if (goesOn) next();
  }

  return (request, response, next) => void serve(request, response, next);
}
