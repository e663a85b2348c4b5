/** Plain `node:http`: `createServer(idempotent(ichido, options, handler))`. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Context } from "../core/context.ts";
import type { Decider, RouteOptions } from "../core/options.ts";
import { createNodeGuard, type WireOptions } from "../http/node-guard.ts";
import { sendAnswer } from "../http/send.ts";

export type NodeHandler = (request: IncomingMessage, response: ServerResponse, idempotency?: Context) => unknown;

const serverError = { status: 500, headers: [], body: new Uint8Array(0) } as const;

/**
 * The handler gets the context as its third argument where the request is protected. It reads the body from the request
 * as usual. What it throws becomes a 500 for the caller and is thrown on, as `node:http` itself would.
 */
export function idempotent(
  ichido: Decider<IncomingMessage>,
  options: RouteOptions<IncomingMessage>,
  handler: NodeHandler,
  wire: WireOptions = {},
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const { guard } = createNodeGuard(ichido, options, wire);
  return async (request, response) => {
    let context: Context | undefined;
    let verdict: Awaited<ReturnType<typeof guard>>;
    try {
      verdict = await guard({
        request,
        response,
        native: request,
        prepare: (execution) => {
          context = execution.context;
        },
      });
    } catch (error) {
      // A request without credentials, say, for which `scope` names nobody: it must not end the process.
      process.emitWarning(`ichido could not protect a request: ${String(error)}`, { type: "IchidoWarning" });
      if (!response.headersSent) sendAnswer(response, serverError);
      return;
    }
    if (verdict !== "run") return;
    try {
      await handler(request, response, context);
    } catch (error) {
      if (!response.headersSent) sendAnswer(response, serverError);
      throw error;
    }
  };
}
