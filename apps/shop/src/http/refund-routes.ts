/** `/payments/:paymentId/refunds` */
import { Router, type Request, type Response } from "express";
import type { Ichido, RouteOptions } from "ichido";
import { idempotency } from "ichido/express";
import { createRefund, type CreateRefundResult, type RefundPorts } from "../payments/create-refund.ts";
import { checkRefundInput, type RefundInput } from "../payments/payment-input.ts";
import { recoverRefund } from "../payments/recover-refund.ts";
import { sendAnswer } from "./answer.ts";
import { caller } from "./authentication.ts";
import { inputOf, jsonBody } from "./json-body.ts";
import { attemptOf, contextOf, dawdle } from "./keyed.ts";
import { uuidOf } from "./path-id.ts";
import { allow, ShopError } from "./problems.ts";
import { refundAnswer, refundVerdict } from "./refund-answers.ts";

/** Names the effect in the bank's reference. */
export const REFUND = "bank.refund";
const PATH = "/:paymentId/refunds";

export interface RefundRouteOptions {
  readonly ichido: Ichido<Request>;
  readonly ports: RefundPorts;
  readonly handlerDelayMs: number;
}

export const refundOperation: RouteOptions<Request> = {
  operation: "payment.refund",
  profile: "ietf",
  labels: ({ params }) => ({ payment: String(params.paymentId) }),
};

export function refundRoutes({ ichido, ports, handlerDelayMs }: RefundRouteOptions): Router {
  const router = Router();
  router.post(
    PATH,
    jsonBody(checkRefundInput),
    idempotency(ichido, {
      ...refundOperation,
      onUnknown: {
        verify: async ({ reference, signal }) => refundVerdict(await recoverRefund(ports, reference(REFUND), signal)),
      },
    }),
    async (request: Request, response: Response) => {
      const key = contextOf(request);
      await dawdle(handlerDelayMs);
      const order = {
        ...inputOf<RefundInput>(request),
        ...caller(request),
        paymentId: uuidOf(request, "paymentId"),
      };
      const result = await createRefund(ports, order, attemptOf(key, REFUND), (call) => key.step(REFUND, call));
      if (result.outcome === "unreachable" && key.attempt === 1) key.release();
      if (result.outcome !== "settled") throw refusal(result);
      key.resource("refund", result.refund.refundId);
      sendAnswer(response, refundAnswer(result.refund));
    },
  );
  router.all(PATH, allow("POST"));
  return router;
}

function refusal(result: Exclude<CreateRefundResult, { readonly outcome: "settled" }>): ShopError {
  switch (result.outcome) {
    case "no-such-payment":
      return new ShopError("not-found", "no payment of your tenant has this id");
    case "not-captured":
      return new ShopError(
        "illegal-transition",
        `the payment is ${result.status}; only a captured one can be refunded`,
      );
    case "exceeds": {
      const { refundable } = result;
      return new ShopError("amount-exceeds", `at most ${refundable} can be refunded`, { refundable });
    }
    // A server error leaves the key to `onUnknown`: the retry asks the bank before anything is given back.
    case "unknown":
      return new ShopError("gateway-timeout", "the refund may have been made; retry with the same key to learn it");
    case "unreachable":
      return new ShopError("gateway-unavailable", "nothing was refunded; retry with the same key");
    case "overtaken":
      return new ShopError("internal-error", "another attempt took over; retry with the same key to get its answer");
  }
}
