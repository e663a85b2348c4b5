/** The gateway's word about a refund, written down. */
import type { FindRefundOutcome, RefundOutcome } from "../gateway/payment-gateway.ts";
import type { RefundRepository } from "./refund-repository.ts";
import type { Refund } from "./refund.ts";

/** `undefined`: it has not said how the refund ended. */
export async function settleRefund(
  refunds: RefundRepository,
  refund: Refund,
  said: RefundOutcome | FindRefundOutcome,
): Promise<Refund | undefined> {
  switch (said.outcome) {
    case "refunded":
      return refunds.settle(refund, { status: "refunded", gatewayRefundId: said.refundId });
    case "declined":
      return refunds.settle(refund, { status: "declined" });
    case "absent":
    case "unknown":
    case "unreachable":
      return undefined;
  }
}
