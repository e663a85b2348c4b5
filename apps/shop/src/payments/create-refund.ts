/** Refunding: the one place where money is given back. */
import type { PaymentGateway } from "../gateway/payment-gateway.ts";
import { answered, type Recorded } from "../gateway/recorded-call.ts";
import type { Attempt } from "./attempts.ts";
import type { RefundOpening, RefundRepository } from "./refund-repository.ts";
import type { Refund, RefundRequest } from "./refund.ts";
import { settleRefund } from "./settle-refund.ts";

export interface RefundPorts {
  readonly refunds: RefundRepository;
  readonly gateway: PaymentGateway;
}

export type CreateRefundResult =
  | { readonly outcome: "settled"; readonly refund: Refund }
  | { readonly outcome: "unknown" | "unreachable" }
  | Exclude<RefundOpening, { readonly outcome: "opened" }>;

/** The amount is reserved before the gateway is asked, and the gateway is asked under the same reference every time. */
export async function createRefund(
  { refunds, gateway }: RefundPorts,
  request: RefundRequest,
  attempt: Attempt,
  recorded: Recorded,
): Promise<CreateRefundResult> {
  const opening = await refunds.open(request, attempt);
  if (opening.outcome !== "opened") return opening;
  const { refund } = opening;
  if (refund.status !== "requested") return { outcome: "settled", refund };

  const { reference, chargeId, amount } = refund;
  const said = await answered(recorded, () => gateway.refund({ reference, chargeId, amount }, attempt.signal));
  const settled = await settleRefund(refunds, refund, said);
  if (settled !== undefined) return { outcome: "settled", refund: settled };
  if (said.outcome !== "unreachable") return { outcome: "unknown" };
  // An earlier attempt may have reached the gateway: then the reservation must stay.
  if (attempt.number === 1) await refunds.settle(refund, { status: "withdrawn" });
  return { outcome: "unreachable" };
}
