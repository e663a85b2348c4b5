/** `/operations`: what became of a request that was answered 202, for whoever sent it. */
import { Router, type Request } from "express";
import type { Ichido } from "ichido";
import { caller } from "./authentication.ts";
import { allow, ShopError } from "./problems.ts";

export const operationUrl = (operationId: string): string => `/operations/${operationId}`;

export function operationRoutes(ichido: Ichido<Request>): Router {
  const router = Router();
  router.get("/:operationId", async (request, response) => {
    const { operationId } = request.params;
    const { tenant, user: principal } = caller(request);
    const record = await ichido.findOperation(operationId, { tenant, principal });
    // Somebody else's is answered as one that does not exist.
    if (record === undefined) throw new ShopError("not-found", "you have no operation with this id");
    // A released one is `failed`: nothing happened, and the same key may be sent again.
    const { state } = record;
    const result = record.response?.headers.find(([name]) => name === "location")?.[1];
    response
      .set("Cache-Control", "no-store")
      .json({ operationId, state, ...(state === "completed" && result !== undefined ? { result } : {}) });
  });
  router.all("/:operationId", allow("GET", "HEAD"));
  return router;
}
