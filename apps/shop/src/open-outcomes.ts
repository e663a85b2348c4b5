/** How the outcome of each keyed operation that calls the bank is found out without its caller. */
import { settledAnswer } from "./http/payment-answers.ts";
import { refundAnswer } from "./http/refund-answers.ts";
import type { PaymentPorts } from "./payments/create-payment.ts";
import type { RefundPorts } from "./payments/create-refund.ts";
import { isOpen } from "./payments/payment.ts";
import { reconcilePayment } from "./payments/reconcile-payment.ts";
import { settleRefund } from "./payments/recover-refund.ts";
import type { FindAnswer } from "./reconciler.ts";

const INQUIRY_MARGIN_MS = 2_000;

export function findPaymentAnswer(ports: PaymentPorts, gatewayTimeoutMs: number): FindAnswer {
  return async ({ identity, fence, interim }, signal) => {
    const { key, tenant = "", principal: user = "" } = identity;
    const payment = await ports.payments.findByAttempt({ key, fence, tenant, user });
    if (payment === undefined) return undefined;
    if (!isOpen(payment)) return settledAnswer(payment);
    // Without an interim answer a retry may take the key over and charge: then the bank is asked only.
    const mayCharge = interim !== undefined;
    const inquiryMs = 2 * gatewayTimeoutMs + INQUIRY_MARGIN_MS;
    const settled = await reconcilePayment(ports, payment, { mayCharge, inquiryMs, signal });
    return settled === undefined ? undefined : settledAnswer(settled);
  };
}

/** Only asks: a refund that the bank does not know is left to its caller, who was told to retry. */
export function findRefundAnswer(ports: RefundPorts): FindAnswer {
  return async ({ identity, fence }, signal) => {
    const { key, tenant = "", principal: user = "" } = identity;
    const refund = await ports.refunds.findByAttempt({ key, fence, tenant, user });
    if (refund === undefined) return undefined;
    const settled = await settleRefund(ports, refund, signal);
    return settled.outcome === "settled" ? refundAnswer(settled.refund) : undefined;
  };
}
