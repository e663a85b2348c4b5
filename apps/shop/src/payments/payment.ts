/** A payment and the only ways its status may change (ADR-009). Knows nothing of HTTP, keys or the bank. */
import { defineTransitions, type StateOf } from "ichido/guards";

const statuses = {
  requested: ["captured", "declined", "unknown"],
  unknown: ["captured", "declined"],
  captured: ["refunded"],
} as const;

export type PaymentStatus = StateOf<typeof statuses>;
export const paymentTransitions = defineTransitions(statuses);

export interface PaymentRequest {
  readonly tenant: string;
  readonly user: string;
  readonly bookingId: string;
  /** In minor units. */
  readonly amount: number;
  readonly currency: string;
}

export interface Payment extends PaymentRequest {
  readonly paymentId: string;
  readonly status: PaymentStatus;
  /** Names the charge at the gateway: the same on every attempt. */
  readonly reference: string;
  /** The gateway's own name for the charge, once it is captured. */
  readonly chargeId: string | undefined;
  readonly refundedAmount: number;
  readonly createdAt: string;
}

export class IllegalTransitionError extends Error {
  override readonly name = "IllegalTransitionError";

  constructor(paymentId: string, from: PaymentStatus, to: PaymentStatus) {
    super(`payment ${paymentId} is ${from} and cannot become ${to}`);
  }
}

/** Whether the gateway's answer to the charge is still to come. */
export function isOpen(payment: Payment): boolean {
  return payment.status === "requested" || payment.status === "unknown";
}
