/** The gateway's word about a charge, written down. */
import type { ChargeOutcome, FindOutcome } from "../gateway/payment-gateway.ts";
import type { PaymentRepository } from "./payment-repository.ts";
import type { Payment } from "./payment.ts";

/** `undefined`: it has not said how the charge ended. */
export async function settleCharge(
  payments: PaymentRepository,
  payment: Payment,
  said: ChargeOutcome | FindOutcome,
): Promise<Payment | undefined> {
  switch (said.outcome) {
    case "captured":
      return payments.settle(payment, { status: "captured", chargeId: said.chargeId });
    case "declined":
      return payments.settle(payment, { status: "declined" });
    case "absent":
    case "unknown":
    case "unreachable":
      return undefined;
  }
}
