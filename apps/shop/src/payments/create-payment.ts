/** Paying: the one place where a payment is charged. */
import type { ChargeOutcome, PaymentGateway } from "../gateway/payment-gateway.ts";
import { answered, type Recorded } from "../gateway/recorded-call.ts";
import type { Attempt } from "./attempts.ts";
import { isOpen, type Payment, type PaymentRequest } from "./payment.ts";
import type { PaymentRepository } from "./payment-repository.ts";
import { settleCharge } from "./settle-charge.ts";

export interface PaymentPorts {
  readonly payments: PaymentRepository;
  readonly gateway: PaymentGateway;
}

export type CreatePaymentResult =
  | { readonly outcome: ChargeOutcome["outcome"]; readonly payment: Payment }
  | { readonly outcome: "overtaken" };

/**
 * The row is written before the gateway is asked, so that a charge without a row cannot exist, and the gateway is asked
 * under a reference that is the same on every attempt, so that it charges once.
 */
export async function createPayment(
  { payments, gateway }: PaymentPorts,
  request: PaymentRequest,
  attempt: Attempt,
  recorded: Recorded,
): Promise<CreatePaymentResult> {
  const payment = await payments.open(request, attempt);
  if (payment === "overtaken") return { outcome: "overtaken" };
  if (!isOpen(payment)) return { outcome: payment.status === "declined" ? "declined" : "captured", payment };

  const { reference, signal } = attempt;
  const { amount, currency } = payment;
  const charge = await answered(recorded, () => gateway.charge({ reference, amount, currency }, signal));
  const settled = await settleCharge(payments, payment, charge);
  if (settled !== undefined) return { outcome: charge.outcome, payment: settled };
  if (charge.outcome === "unreachable") return { outcome: "unreachable", payment };
  return { outcome: "unknown", payment: await payments.settle(payment, { status: "unknown" }) };
}
