/**
 * The payment gateway in the shop's own words (ADR-008). Each bank's protocol is one adapter beside this file; nothing of
 * a bank's vocabulary passes it. A lost answer is an outcome, not an exception: `unknown` must be dealt with.
 */

export interface ChargeOrder {
  /** The shop's name for this charge. A gateway charges once per reference, however often it is asked. */
  readonly reference: string;
  readonly amount: number;
  readonly currency: string;
}

export interface RefundOrder {
  readonly reference: string;
  readonly chargeId: string;
  readonly amount: number;
}

export type ChargeOutcome =
  | { readonly outcome: "captured"; readonly chargeId: string }
  | { readonly outcome: "declined" }
  /** The order may or may not have been carried out: ask with `find`. */
  | { readonly outcome: "unknown" }
  /** The order never left the shop. */
  | { readonly outcome: "unreachable" };

export type FindOutcome =
  | { readonly outcome: "captured"; readonly chargeId: string }
  | { readonly outcome: "declined" }
  | { readonly outcome: "absent" }
  | { readonly outcome: "unreachable" };

export type RefundOutcome =
  | { readonly outcome: "refunded"; readonly refundId: string }
  | { readonly outcome: "declined" }
  | { readonly outcome: "unknown" }
  | { readonly outcome: "unreachable" };

export type FindRefundOutcome =
  | { readonly outcome: "refunded"; readonly refundId: string }
  | { readonly outcome: "declined" }
  | { readonly outcome: "absent" }
  | { readonly outcome: "unreachable" };

export interface PaymentGateway {
  charge(order: ChargeOrder, signal: AbortSignal): Promise<ChargeOutcome>;
  find(reference: string, signal: AbortSignal): Promise<FindOutcome>;
  refund(order: RefundOrder, signal: AbortSignal): Promise<RefundOutcome>;
  findRefund(reference: string, signal: AbortSignal): Promise<FindRefundOutcome>;
}
