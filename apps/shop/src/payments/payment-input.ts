/** What a caller must say to pay. */
import { isCurrency } from "./currencies.ts";

export interface PaymentInput {
  readonly bookingId: string;
  readonly amount: number;
  readonly currency: string;
}

export interface Fault {
  readonly member: string;
  readonly expected: string;
}

const BOOKING_ID_CHARACTERS_MAX = 64;

/** Members beyond these three are ignored: they take no part in the payment, nor in what makes two requests the same. */
export function checkPaymentInput(body: unknown): PaymentInput | readonly Fault[] {
  const { bookingId, amount, currency } = membersOf(body);
  const faults: Fault[] = [];
  if (!isBookingId(bookingId)) {
    faults.push({ member: "bookingId", expected: `a string of 1 to ${BOOKING_ID_CHARACTERS_MAX} characters` });
  }
  if (!isAmount(amount))
    faults.push({ member: "amount", expected: "a positive integer in minor units, at most 2^53 - 1" });
  if (typeof currency !== "string" || !isCurrency(currency)) {
    faults.push({ member: "currency", expected: "a current ISO 4217 code in upper case that has a minor unit" });
  }
  return faults.length > 0 ? faults : ({ bookingId, amount, currency } as PaymentInput);
}

function membersOf(body: unknown): Readonly<Record<string, unknown>> {
  return typeof body === "object" && body !== null && !Array.isArray(body) ? (body as Record<string, unknown>) : {};
}

function isBookingId(value: unknown): boolean {
  // A lone surrogate cannot be stored as UTF-8 and given back unchanged.
  return (
    typeof value === "string" &&
    isWellFormed(value) &&
    value !== "" &&
    Array.from(value).length <= BOOKING_ID_CHARACTERS_MAX
  );
}

function isAmount(value: unknown): boolean {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0;
}

function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}
