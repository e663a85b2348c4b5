/** Where payments are kept: a port, with one adapter per database. */
import type { Payment, PaymentRequest } from "./payment.ts";

/**
 * One try at a payment. The same intent may be tried again after a crash; then `reference` is the same, `number` and
 * `fence` are greater.
 */
export interface Attempt {
  /** The caller's key: with tenant and user it leads from a key's record to the payment. */
  readonly key: string;
  readonly reference: string;
  /** 1 for the first try. */
  readonly number: number;
  /** Orders the tries: one with a smaller fence than was seen before has been overtaken. */
  readonly fence: number;
  /** Aborts when this try has been overtaken. */
  readonly signal: AbortSignal;
}

/** What the gateway said of a charge. */
export type Settlement =
  | { readonly status: "captured"; readonly chargeId: string }
  | { readonly status: "declined" }
  | { readonly status: "unknown" };

export interface PaymentRepository {
  /**
   * The row of this attempt, in one atomic step: a later try gets the row that the earlier one opened, so a crash never
   * leaves two. A first try opens a new row even where an older payment has the same reference and is settled, which is
   * what an expired key used again asks for. `overtaken`: a try with a greater fence was here.
   */
  open(request: PaymentRequest, attempt: Attempt): Promise<Payment | "overtaken">;
  /** Guarded by the transition table. Settling again the same way changes nothing; any other way throws. */
  settle(payment: Payment, settlement: Settlement): Promise<Payment>;
  find(tenant: string, paymentId: string): Promise<Payment | undefined>;
  /** The newest one. */
  findByReference(reference: string): Promise<Payment | undefined>;
  /** The one whose latest try had this fence: another one under the same key answers another request. */
  findByAttempt(
    attempt: Pick<Attempt, "key" | "fence"> & Pick<Payment, "tenant" | "user">,
  ): Promise<Payment | undefined>;
  /** Gives one asker at a time, among all shops, the task of finding out an open outcome, for so long. */
  beginInquiry(payment: Payment, forMs: number): Promise<boolean>;
  endInquiry(payment: Payment): Promise<void>;
  countByStatus(): Promise<Readonly<Record<string, number>>>;
}
