/** Requests to a route, as an adapter would bring them. */
import { randomUUID } from "node:crypto";
import type { Context, Ichido } from "ichido";

const encoder = new TextEncoder();

/** One request with a key of its own. */
export function requester(ichido: Ichido, mode: "lease" | "transaction") {
  const route = ichido.route({ operation: "order.create", mode });
  return async (handler: (context: Context) => Promise<unknown>): Promise<void> => {
    const key = randomUUID();
    const decision = await ichido.decide(
      {
        method: "POST",
        target: "/orders",
        headerLines: (name) => (name === "idempotency-key" ? [key] : ["application/json"]),
        body: async () => ({ kind: "bytes", bytes: encoder.encode('{"amount":1999}') }),
        native: undefined,
      },
      route,
    );
    if (decision.kind !== "execute") throw new Error(`expected to run, got ${decision.kind}`);
    await handler(decision.execution.context);
    await decision.execution.settle({
      kind: "answered",
      response: { status: 201, headers: [], body: encoder.encode("{}") },
    });
  };
}
