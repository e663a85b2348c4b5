/** What a caller must say to pay, and to be paid back. */
import type { Checked, Fault } from "../http/json-body.ts";
import { AMOUNT, isAmount, isText, membersOf } from "../input.ts";
import { isCurrency } from "./currencies.ts";

export interface PaymentInput {
  readonly bookingId: string;
  readonly amount: number;
  readonly currency: string;
}

export interface RefundInput {
  readonly amount: number;
}

const BOOKING_ID_CHARACTERS_MAX = 64;

/** Members beyond these three are ignored: they take no part in the payment, nor in what makes two requests the same. */
export function checkPaymentInput(body: unknown): Checked<PaymentInput> {
  const { bookingId, amount, currency } = membersOf(body);
  const faults: Fault[] = [];
  if (!isText(bookingId, BOOKING_ID_CHARACTERS_MAX)) {
    faults.push({ member: "bookingId", expected: `a string of 1 to ${BOOKING_ID_CHARACTERS_MAX} characters` });
  }
  if (!isAmount(amount)) faults.push({ member: "amount", expected: AMOUNT });
  if (typeof currency !== "string" || !isCurrency(currency)) {
    faults.push({ member: "currency", expected: "a current ISO 4217 code in upper case that has a minor unit" });
  }
  return faults.length > 0 ? { faults } : { input: { bookingId, amount, currency } as PaymentInput };
}

export function checkRefundInput(body: unknown): Checked<RefundInput> {
  const { amount } = membersOf(body);
  return isAmount(amount) ? { input: { amount } } : { faults: [{ member: "amount", expected: AMOUNT }] };
}
