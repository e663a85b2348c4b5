/** What became of a refund whose attempt vanished: our own row first, then the gateway, by reference. */
import type { RefundPorts } from "./create-refund.ts";
import type { Refund } from "./refund.ts";
import { settleRefund } from "./settle-refund.ts";

export type RecoverRefundResult =
  | { readonly outcome: "settled"; readonly refund: Refund }
  | { readonly outcome: "absent" }
  | { readonly outcome: "not-visible-yet" };

export async function recoverRefund(
  { refunds, gateway }: RefundPorts,
  reference: string,
  signal: AbortSignal,
): Promise<RecoverRefundResult> {
  const refund = await refunds.findByReference(reference);
  // The row is written before the gateway is asked, so without a row nothing was given back.
  if (refund === undefined || refund.status === "withdrawn") return { outcome: "absent" };
  if (refund.status !== "requested") return { outcome: "settled", refund };
  const found = await gateway.findRefund(reference, signal);
  const settled = await settleRefund(refunds, refund, found);
  if (settled !== undefined) return { outcome: "settled", refund: settled };
  return found.outcome === "absent" ? { outcome: "absent" } : { outcome: "not-visible-yet" };
}
