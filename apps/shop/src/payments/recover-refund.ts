/** What became of a refund whose attempt vanished: our own row first, then the gateway, by reference. */
import type { RefundPorts } from "./create-refund.ts";
import type { Refund } from "./refund.ts";

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
  switch (found.outcome) {
    case "refunded":
      return {
        outcome: "settled",
        refund: await refunds.settle(refund, { status: "refunded", gatewayRefundId: found.refundId }),
      };
    case "declined":
      return { outcome: "settled", refund: await refunds.settle(refund, { status: "declined" }) };
    case "absent":
      return { outcome: "absent" };
    case "unreachable":
      return { outcome: "not-visible-yet" };
  }
}
