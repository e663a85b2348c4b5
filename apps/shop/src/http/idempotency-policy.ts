/** The published policy (`/.well-known/idempotency`): what a client may rely on, machine-readable. */
import type { Request } from "express";
import type { Ichido } from "ichido";
import { policyOf, type Policy } from "ichido/policy";
import { paymentOperation } from "./payment-routes.ts";

export function idempotencyPolicy(ichido: Ichido<Request>): Policy {
  const routes = [{ method: "POST", path: "/payments", options: paymentOperation }];
  return policyOf(ichido, routes, { scope: ["tenant", "user"] });
}
