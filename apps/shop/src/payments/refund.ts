/** Money given back: a part of a captured payment, or all of it. */

/** `withdrawn`: never reached the gateway, and gave its reservation back. */
export type RefundStatus = "requested" | "refunded" | "declined" | "withdrawn";

export interface RefundRequest {
  readonly tenant: string;
  readonly user: string;
  readonly paymentId: string;
  /** In minor units. */
  readonly amount: number;
}

export interface Refund extends RefundRequest {
  readonly refundId: string;
  readonly currency: string;
  readonly chargeId: string;
  readonly status: RefundStatus;
  /** Names the refund at the gateway: the same on every attempt. */
  readonly reference: string;
  /** Of the payment when this refund was made: its answer must be the same whenever it is given. */
  readonly after: { readonly refundedAmount: number; readonly paymentStatus: "captured" | "refunded" } | undefined;
  readonly createdAt: string;
}
