/** What became of a payment whose attempt vanished: our own row first, then the gateway, by reference. */
import type { PaymentPorts } from "./create-payment.ts";
import { isOpen, type Payment } from "./payment.ts";
import { settleCharge } from "./settle-charge.ts";

export type RecoverPaymentResult =
  | { readonly outcome: "settled"; readonly payment: Payment }
  /** The gateway was never asked, or does not know the reference: the payment may be attempted again. */
  | { readonly outcome: "absent"; readonly payment: Payment | undefined }
  | { readonly outcome: "not-visible-yet" };

export async function recoverPayment(
  { payments, gateway }: PaymentPorts,
  reference: string,
  signal: AbortSignal,
): Promise<RecoverPaymentResult> {
  const payment = await payments.findByReference(reference);
  // The row is written before the charge, so without a row there is no charge.
  if (payment === undefined) return { outcome: "absent", payment };
  if (!isOpen(payment)) return { outcome: "settled", payment };

  const found = await gateway.find(reference, signal);
  const settled = await settleCharge(payments, payment, found);
  if (settled !== undefined) return { outcome: "settled", payment: settled };
  return found.outcome === "absent" ? { outcome: "absent", payment } : { outcome: "not-visible-yet" };
}
