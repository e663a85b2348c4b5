/** A refund as the API tells it. */
import type { VerifyAnswer } from "ichido";
import type { RecoverRefundResult } from "../payments/recover-refund.ts";
import type { Refund } from "../payments/refund.ts";
import type { Answer } from "./answer.ts";
import { problemAnswer, ShopError } from "./problems.ts";

/** `status` and `refundedAmount` are the payment's, as this refund left it. */
export function refundAnswer(refund: Refund): Answer {
  const { refundId, paymentId, amount, currency, createdAt, after } = refund;
  if (after === undefined) {
    const detail = "the bank refused the refund; nothing was given back";
    return problemAnswer(new ShopError("refund-declined", detail, { paymentId, refundId }));
  }
  const { paymentStatus: status, refundedAmount } = after;
  return {
    status: 201,
    headers: { "content-type": "application/json; charset=utf-8" },
    body: { refundId, paymentId, amount, currency, status, refundedAmount, createdAt },
  };
}

export function refundVerdict(recovered: RecoverRefundResult): VerifyAnswer {
  return recovered.outcome === "settled"
    ? { verdict: "found", response: refundAnswer(recovered.refund) }
    : { verdict: recovered.outcome };
}
