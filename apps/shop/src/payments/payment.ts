/** A payment and the only ways its status may change (ADR-009). Knows nothing of HTTP, keys or the bank. */

export type PaymentStatus = "requested" | "unknown" | "captured" | "declined" | "refunded";

const transitions: Readonly<Record<PaymentStatus, readonly PaymentStatus[]>> = {
  requested: ["captured", "declined", "unknown"],
  unknown: ["captured", "declined"],
  captured: ["refunded"],
  declined: [],
  refunded: [],
};

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

export function mayBecome(from: PaymentStatus, to: PaymentStatus): boolean {
  return transitions[from].includes(to);
}

/** The statuses from which `to` may be reached: what a guarded update compares with. */
export function predecessorsOf(to: PaymentStatus): readonly PaymentStatus[] {
  return (Object.keys(transitions) as PaymentStatus[]).filter((from) => mayBecome(from, to));
}

/** Whether the gateway's answer to the charge is still to come. */
export function isOpen(payment: Payment): boolean {
  return payment.status === "requested" || payment.status === "unknown";
}
