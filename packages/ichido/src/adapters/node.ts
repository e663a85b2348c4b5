/** Plain `node:http`: `createServer(idempotent(ichido, options, handler))`. */
import { knownOptions } from "../core/contract/option-checks.ts";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { Context } from "../core/contract/context.ts";
import type { Decider, RouteOptions } from "../core/contract/options.ts";
import type { BodyOptions } from "../http/body-limits.ts";
import { createNodeGuard, type WireOptions, wireNames } from "../http/node-guard.ts";
import { sendAnswer } from "../http/send.ts";

export { fromServer, type ServerLike, type ServerPart } from "../http/server-part.ts";
export type { BodyOptions, WireOptions };

export type NodeHandler<Request = IncomingMessage, Response = ServerResponse, Tx = unknown> = (
  request: Request,
  response: Response,
  idempotency?: Context<Tx>,
) => unknown;

const serverError = { status: 500, headers: [], body: new Uint8Array(0) } as const;

/**
 * The handler gets the context as its third argument where the request is protected. It reads the body from the request
 * as usual. When the handler throws, the caller gets a 500 and the error is thrown on, as `node:http` itself would.
 * Requests of `node:http2` are served alike: `idempotent<Http2ServerRequest, Http2ServerResponse>(…)`.
 */
export function idempotent<
  Request extends IncomingMessage | Http2ServerRequest = IncomingMessage,
  Response extends ServerResponse | Http2ServerResponse = ServerResponse,
  Tx = unknown,
>(
  ichido: Decider<Request, Tx>,
  options: RouteOptions<Request>,
  handler: NodeHandler<Request, Response, Tx>,
  wire: WireOptions = {},
): (request: Request, response: Response) => Promise<void> {
  knownOptions("idempotent", wire, wireNames);
  const { guard } = createNodeGuard(ichido, options, wire);
  return async (given, answered) => {
    // Node's compatibility layer has all members of both that are used here.
    const request = given as unknown as IncomingMessage;
    const response = answered as unknown as ServerResponse;
    let context: Context<Tx> | undefined;
    try {
      const verdict = await guard(request, response, given);
      if (verdict.kind === "answer") {
        if (verdict.response !== undefined) sendAnswer(response, verdict.response);
        return;
      }
      if (verdict.kind === "run") {
        verdict.capture();
        ({ context } = verdict.execution);
      }
    } catch (error) {
      // For example a request without credentials, for which `scope` returns no caller: it must not end the process.
      process.emitWarning(`ichido could not protect a request: ${String(error)}`, { type: "IchidoWarning" });
      if (!response.headersSent) sendAnswer(response, serverError);
      return;
    }
    try {
      await handler(given, answered, context);
    } catch (error) {
      if (!response.headersSent) sendAnswer(response, serverError);
      // Half an answer, which the handler will not finish: caller and key must not wait for the rest.
      else if (!response.writableEnded) response.destroy(error instanceof Error ? error : new Error(String(error)));
      throw error;
    }
  };
}
