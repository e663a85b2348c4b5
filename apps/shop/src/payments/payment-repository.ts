/** Where payments are kept, as a port. */
import type { Attempt } from "./attempts.ts";
import type { ListOpen } from "./open-rows.ts";
import type { Payment, PaymentRequest } from "./payment.ts";

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
  /** Those whose caller was told that they are settled later: `unknown`. */
  readonly listOpen: ListOpen;
  countByStatus(): Promise<Readonly<Record<string, number>>>;
}
