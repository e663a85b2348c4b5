/** The published policy (`/.well-known/idempotency`): what a client may rely on, machine-readable. */
import type { Request } from "express";
import type { Ichido } from "ichido";
import { policyOf, type Policy, type PublishedRoute } from "ichido/policy";
import { orderOperation, payOperation } from "./order-routes.ts";
import { paymentOperation } from "./payment-routes.ts";
import { refundOperation } from "./refund-routes.ts";
import { userPatchOperation } from "./user-routes.ts";

export const keyedRoutes: readonly PublishedRoute<Request>[] = [
  { method: "POST", path: "/payments", options: paymentOperation },
  { method: "POST", path: "/payments/:paymentId/refunds", options: refundOperation },
  { method: "POST", path: "/orders", options: orderOperation },
  { method: "POST", path: "/orders/:orderId/pay", options: payOperation },
  { method: "PATCH", path: "/users/:userId", options: userPatchOperation },
];

export function idempotencyPolicy(ichido: Ichido<Request>): Policy {
  return policyOf(ichido, keyedRoutes, { scope: ["tenant", "user"] });
}
