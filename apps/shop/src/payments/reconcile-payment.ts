/** An open outcome, settled without its caller: the bank is asked by reference, and asked to charge if it never was. */
import type { PaymentPorts } from "./create-payment.ts";
import type { Payment } from "./payment.ts";
import { recoverPayment } from "./recover-payment.ts";

export interface ReconcileOptions {
  /** Nobody else may try this payment meanwhile, so what the bank does not know may be charged, by the same reference. */
  readonly mayCharge: boolean;
  /** Longer than asking and charging can take together. */
  readonly inquiryMs: number;
  readonly signal: AbortSignal;
}

/** The settled payment; undefined: still open, or another shop is asking. */
export async function reconcilePayment(
  ports: PaymentPorts,
  payment: Payment,
  { mayCharge, inquiryMs, signal }: ReconcileOptions,
): Promise<Payment | undefined> {
  const { payments, gateway } = ports;
  if (!(await payments.beginInquiry(payment, inquiryMs))) return undefined;
  const { reference, amount, currency } = payment;
  const recovered = await recoverPayment(ports, reference, signal);
  if (recovered.outcome === "settled") return recovered.payment;
  if (recovered.outcome === "absent" && mayCharge) {
    const charge = await gateway.charge({ reference, amount, currency }, signal);
    if (charge.outcome === "captured") {
      return payments.settle(payment, { status: "captured", chargeId: charge.chargeId });
    }
    if (charge.outcome === "declined") return payments.settle(payment, { status: "declined" });
  }
  await payments.endInquiry(payment);
  return undefined;
}
