/** Express 4 and 5. `captureBody()` before the body parser, `idempotency(ichido, options)` before the handler. */
import { knownOptions } from "../core/contract/option-checks.ts";
import type { ServerResponse } from "node:http";
import type { Context } from "../core/contract/context.ts";
import type { Presenter } from "../core/contract/decision.ts";
import type { AnswerLike, Decider, RouteOptions } from "../core/contract/options.ts";
import { captureLimitsOf, type BodyOptions } from "../http/body-limits.ts";
import { createNodeGuard, wireNames, type WireOptions } from "../http/node-guard.ts";
import { captureBytes, type NodeRequest } from "../http/node-request.ts";
import { sendAnswer } from "../http/send.ts";

declare global {
  namespace Express {
    interface Request {
      /** Present in the handler of a request that is protected. */
      idempotency?: Context;
    }
  }
}

/** What the middleware needs from a request; Express's own `Request` has it. */
export type ExpressRequest = NodeRequest & { idempotency?: Context };
export type ExpressNext = (error?: unknown) => void;
/** Asks for no more of the request than it needs, so that Express infers route parameters from the path as ever. */
export type ExpressMiddleware = (request: ExpressRequest, response: ServerResponse, next: ExpressNext) => void;
export type { BodyOptions, WireOptions };

/** Notes the bytes of the request as they pass to the body parser, so that requests are compared by what was sent. */
export function captureBody(options: BodyOptions = {}): ExpressMiddleware {
  const limits = captureLimitsOf(options);
  return function captureBody(request, _response, next) {
    captureBytes(request, limits);
    next();
  };
}

type JsonResponse = ServerResponse & { json?(value: unknown): unknown; send?(body: unknown): unknown };

/** As if the handler had sent it, so that settings such as `json replacer` hold. Text and bytes pass no serialiser. */
class JsonPresenter implements Presenter {
  readonly #response: JsonResponse;

  constructor(response: JsonResponse) {
    this.#response = response;
  }

  present(answer: AnswerLike): boolean {
    return presentJson(this.#response, answer);
  }
}

function presentJson(response: JsonResponse, { status, headers = {}, body }: AnswerLike): boolean {
  const isJson = body !== undefined && typeof body !== "string" && !(body instanceof Uint8Array);
  if (!isJson || response.json === undefined || response.headersSent) return false;
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  const send = response.send?.bind(response);
  if (send !== undefined && Object.keys(headers).some((name) => name.toLowerCase() === "content-type")) {
    // For text, Express would add a charset to the type that the handler named.
    response.send = (text) => {
      response.send = send;
      return send(typeof text === "string" ? Buffer.from(text) : text);
    };
  }
  response.json(body);
  return true;
}

/** Protects what comes after it; the handler finds `req.idempotency`. */
export function idempotency<Request extends ExpressRequest>(
  ichido: Decider<Request>,
  options: RouteOptions<Request>,
  wire: WireOptions = {},
): ExpressMiddleware {
  knownOptions("idempotency", wire, wireNames);
  const { guard } = createNodeGuard(ichido, options, wire);

  async function serve(request: ExpressRequest, response: ServerResponse, next: ExpressNext): Promise<void> {
    try {
      const verdict = await guard(request, response, request as Request);
      if (verdict.kind === "answer") {
        if (verdict.response !== undefined) sendAnswer(response, verdict.response);
        return;
      }
      if (verdict.kind === "run") {
        const { execution, capture } = verdict;
        request.idempotency = execution.context;
        execution.presenter = new JsonPresenter(response);
        capture();
      }
    } catch (error) {
      next(error);
      return;
    }
    // Outside the try: Express handles what the handler throws.
    next();
  }

  return function idempotency(request, response, next) {
    void serve(request, response, next);
  };
}
