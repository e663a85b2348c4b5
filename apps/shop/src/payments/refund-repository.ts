/** Where refunds are kept, as a port. */
import type { Attempt } from "./attempts.ts";
import type { ListOpen } from "./open-rows.ts";
import type { PaymentStatus } from "./payment.ts";
import type { Refund, RefundRequest } from "./refund.ts";

export type RefundOpening =
  | { readonly outcome: "opened"; readonly refund: Refund }
  | { readonly outcome: "overtaken" }
  | { readonly outcome: "no-such-payment" }
  | { readonly outcome: "not-captured"; readonly status: PaymentStatus }
  | { readonly outcome: "exceeds"; readonly refundable: number };

export type RefundSettlement =
  | { readonly status: "refunded"; readonly gatewayRefundId: string }
  | { readonly status: "declined" }
  | { readonly status: "withdrawn" };

export interface RefundRepository {
  /**
   * Reserves the amount and writes the row, in one atomic step: refunds that run at once never exceed the payment. A later
   * try gets the row of the one before, as with payments.
   */
  open(request: RefundRequest, attempt: Attempt): Promise<RefundOpening>;
  /** Turns the reservation into a refund, or gives it back. Settling a settled one changes nothing. */
  settle(refund: Refund, settlement: RefundSettlement): Promise<Refund>;
  /** The newest one. */
  findByReference(reference: string): Promise<Refund | undefined>;
  /** Those that keep their reservation: `requested`. */
  readonly listOpen: ListOpen;
}
