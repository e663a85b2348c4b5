/** An open outcome, settled without its caller: the bank is asked by reference, and asked to charge if it never was. */
import type { PaymentPorts } from "./create-payment.ts";
import { recoverPayment, type RecoverPaymentResult } from "./recover-payment.ts";
import { settleCharge } from "./settle-charge.ts";

/** For whoever holds the key of this payment: nobody else may charge meanwhile. */
export async function reconcilePayment(
  ports: PaymentPorts,
  reference: string,
  signal: AbortSignal,
): Promise<RecoverPaymentResult> {
  const recovered = await recoverPayment(ports, reference, signal);
  if (recovered.outcome !== "absent") return recovered;
  const { payment } = recovered;
  // Only `unknown` was told to a caller, with the promise to settle it. What a shop left behind when it died is for the
  // caller to ask for again, or not.
  if (payment?.status !== "unknown") return recovered;

  const { payments, gateway } = ports;
  const { amount, currency } = payment;
  const charge = await gateway.charge({ reference, amount, currency }, signal);
  const settled = await settleCharge(payments, payment, charge);
  return settled === undefined ? { outcome: "not-visible-yet" } : { outcome: "settled", payment: settled };
}
