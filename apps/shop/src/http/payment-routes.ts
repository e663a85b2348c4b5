/** `/payments`: requests in, use cases called, answers out. */
import { setTimeout as sleep } from "node:timers/promises";
import express, { Router, type Request, type RequestHandler } from "express";
import type { Context, Ichido, OnUnknown, RouteOptions } from "ichido";
import { captureBody, idempotency } from "ichido/express";
import { createPayment, type PaymentPorts } from "../payments/create-payment.ts";
import { checkPaymentInput, type PaymentInput } from "../payments/payment-input.ts";
import type { Attempt } from "../payments/payment-repository.ts";
import { recoverPayment } from "../payments/recover-payment.ts";
import { sendAnswer } from "./answer.ts";
import { caller } from "./authentication.ts";
import { sendTagged } from "./etag.ts";
import { interimAnswer, paymentView, settledAnswer } from "./payment-answers.ts";
import { allow, ShopError } from "./problems.ts";

const BODY_BYTES_MAX = 64 * 1024;
/** The name of the external effect: with the key and the content it makes the bank's reference. */
const CHARGE = "bank.charge";

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
  labels: ({ body }) => ({ booking: (body as PaymentInput).bookingId }),
};

export function paymentRoutes({ ichido, ports, handlerDelayMs }: PaymentRouteOptions): Router {
  const router = Router();

  router.post(
    "/",
    captureBody(),
    express.json({ limit: BODY_BYTES_MAX }),
    // Before the key is looked at: a body that cannot be right must not use it up.
    validate,
    idempotency(ichido, { ...paymentOperation, onUnknown: askTheBank(ports) }),
    async (request, response) => {
      const key = contextOf(request);
      if (handlerDelayMs > 0) await sleep(handlerDelayMs);
      const order = { ...(request.body as PaymentInput), ...caller(request) };
      const result = await createPayment(ports, order, attemptOf(key, CHARGE), (call) => key.step(CHARGE, call));
      switch (result.outcome) {
        case "captured":
        case "declined":
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
    const payment = await ports.payments.find(caller(request).tenant, request.params.paymentId);
    if (payment === undefined) throw new ShopError("not-found", "no payment of your tenant has this id");
    sendTagged(request, response, paymentView(payment));
  });
  router.all("/:paymentId", allow("GET", "HEAD"));

  return router;
}

function contextOf(request: Request): Context {
  if (request.idempotency === undefined) throw new Error("this handler must run behind idempotency()");
  return request.idempotency;
}

function attemptOf(key: Context, effect: string): Attempt {
  const { attempt: number, fence, signal } = key;
  return { key: key.key, reference: key.reference(effect), number, fence, signal };
}

const validate: RequestHandler = (request, _response, next) => {
  const { body } = request as { readonly body: unknown };
  if (body === undefined && request.is("json") === false) {
    throw new ShopError("unsupported-media-type", "send Content-Type: application/json");
  }
  const input = checkPaymentInput(body);
  if (!("bookingId" in input)) throw new ShopError("validation", faultsIn(input), { faults: input });
  // Only what was checked goes on: a member that nobody asked for must not reach the payment.
  request.body = input;
  next();
};

function faultsIn(faults: readonly { readonly member: string; readonly expected: string }[]): string {
  return faults.map(({ member, expected }) => `${member} must be ${expected}`).join("; ");
}

/** When an attempt vanished without a word, the bank knows what became of the reference. */
function askTheBank(ports: PaymentPorts): OnUnknown {
  return {
    verify: async (vanished) => {
      const recovered = await recoverPayment(ports, vanished.reference(CHARGE), vanished.signal);
      return recovered.outcome === "settled"
        ? { verdict: "found", response: settledAnswer(recovered.payment) }
        : { verdict: recovered.outcome };
    },
  };
}
