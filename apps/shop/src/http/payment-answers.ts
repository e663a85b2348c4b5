/** A payment as the API tells it. */
import type { VerifyAnswer } from "ichido";
import type { Payment } from "../payments/payment.ts";
import type { RecoverPaymentResult } from "../payments/recover-payment.ts";
import type { Answer } from "./answer.ts";
import { problemAnswer, ShopError } from "./problems.ts";

/** About as often as the reconciler looks. */
const RETRY_AFTER_SECONDS = 1;

export function paymentView(payment: Payment): unknown {
  const { paymentId, bookingId, amount, currency, status, refundedAmount, createdAt } = payment;
  const refunded = refundedAmount > 0 ? { refundedAmount } : {};
  return { paymentId, bookingId, amount, currency, status, ...refunded, createdAt };
}

/** While the bank's answer is missing: repeated to every retry, never the result (ADR-010). */
export function interimAnswer(payment: Payment): Answer {
  return {
    status: 202,
    headers: {
      "content-type": "application/json; charset=utf-8",
      "cache-control": "no-store",
      location: `/payments/${payment.paymentId}`,
      "retry-after": String(RETRY_AFTER_SECONDS),
    },
    body: paymentView(payment),
  };
}

/** The final answer to `POST /payments`: stored under the key and given again to every retry. */
export function settledAnswer(payment: Payment): Answer {
  const { paymentId } = payment;
  if (payment.status === "declined") {
    const detail = "the bank refused the charge; pay the booking again with another card and a new key";
    return problemAnswer(new ShopError("card-declined", detail, { paymentId }));
  }
  return {
    status: 201,
    headers: { "content-type": "application/json; charset=utf-8", location: `/payments/${paymentId}` },
    body: paymentView(payment),
  };
}

export function paymentVerdict(recovered: RecoverPaymentResult): VerifyAnswer {
  return recovered.outcome === "settled"
    ? { verdict: "found", response: settledAnswer(recovered.payment) }
    : { verdict: recovered.outcome };
}
