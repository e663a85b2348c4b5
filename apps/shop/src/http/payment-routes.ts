/** `/payments`: requests in, use cases called, answers out. */
import { Router, type Request, type Response } from "express";
import type { Ichido, RouteOptions } from "ichido";
import { idempotency } from "ichido/express";
import { createPayment, type PaymentPorts } from "../payments/create-payment.ts";
import { checkPaymentInput, type PaymentInput } from "../payments/payment-input.ts";
import { recoverPayment } from "../payments/recover-payment.ts";
import { sendAnswer } from "./answer.ts";
import { caller } from "./authentication.ts";
import { sendTagged } from "./etag.ts";
import { inputOf, jsonBody } from "./json-body.ts";
import { attemptOf, contextOf, dawdle } from "./keyed.ts";
import { interimAnswer, paymentVerdict, paymentView, settledAnswer } from "./payment-answers.ts";
import { uuidOf } from "./path-id.ts";
import { allow, ShopError } from "./problems.ts";

/** Names the effect in the bank's reference. */
export const CHARGE = "bank.charge";

export interface PaymentRouteOptions {
  readonly ichido: Ichido<Request>;
  readonly ports: PaymentPorts;
  readonly handlerDelayMs: number;
}

/** Also what the published policy is made of. */
export const paymentOperation: RouteOptions<Request> = {
  operation: "payment.create",
  profile: "adr-007",
  fingerprint: { fields: ["bookingId", "amount", "currency"] },
  labels: (request) => ({ booking: inputOf<PaymentInput>(request).bookingId, customer: caller(request).user }),
};

export function paymentRoutes({ ichido, ports, handlerDelayMs }: PaymentRouteOptions): Router {
  const router = Router();

  router.post(
    "/",
    jsonBody(checkPaymentInput),
    idempotency(ichido, {
      ...paymentOperation,
      // When an attempt vanished without a word, the bank knows what became of the reference.
      onUnknown: {
        verify: async ({ reference, signal }) => paymentVerdict(await recoverPayment(ports, reference(CHARGE), signal)),
      },
    }),
    async (request: Request, response: Response) => {
      const key = contextOf(request);
      await dawdle(handlerDelayMs);
      const order = { ...inputOf<PaymentInput>(request), ...caller(request) };
      const result = await createPayment(ports, order, attemptOf(key, CHARGE), (call) => key.step(CHARGE, call));
      switch (result.outcome) {
        case "captured":
        case "declined":
          key.resource("payment", result.payment.paymentId);
          if (result.payment.chargeId !== undefined) key.resource("charge", result.payment.chargeId);
          sendAnswer(response, settledAnswer(result.payment));
          return;
        // From here on the reconciler alone may try this payment.
        case "unknown":
          await key.unknown(interimAnswer(result.payment));
          return;
        case "unreachable":
          // Nothing left the shop, and no earlier attempt can have: the next one may run without asking the bank.
          if (key.attempt === 1) key.release();
          throw new ShopError("gateway-unavailable", "nothing was charged; retry with the same key");
        case "overtaken":
          throw new ShopError("internal-error", "another attempt took over; retry with the same key to get its answer");
      }
    },
  );
  router.all("/", allow("POST"));

  router.get("/:paymentId", async (request, response) => {
    const payment = await ports.payments.find(caller(request).tenant, uuidOf(request, "paymentId"));
    if (payment === undefined) throw new ShopError("not-found", "no payment of your tenant has this id");
    sendTagged(request, response, paymentView(payment));
  });
  router.all("/:paymentId", allow("GET", "HEAD"));

  return router;
}
