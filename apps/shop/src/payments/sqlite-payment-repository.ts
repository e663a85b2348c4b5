/** Payments in SQLite. */
import type { DatabaseSync } from "node:sqlite";
import { inTransaction, patiently } from "../database.ts";
import { newId } from "../ids.ts";
import {
  IllegalTransitionError,
  isOpen,
  predecessorsOf,
  type Payment,
  type PaymentRequest,
  type PaymentStatus,
} from "./payment.ts";
import type { Attempt, PaymentRepository, Settlement } from "./payment-repository.ts";

/**
 * `fence` is that of the latest attempt: an overtaken one can no longer open a row. `refunding_amount` is what refunds
 * under way may yet take: reserved first, so that two of them never exceed the payment.
 */
export const paymentMigrations: readonly string[] = [
  `CREATE TABLE payments (
     payment_id TEXT PRIMARY KEY,
     tenant     TEXT NOT NULL,
     user       TEXT NOT NULL,
     booking_id TEXT NOT NULL,
     amount     INTEGER NOT NULL CHECK (amount > 0),
     currency   TEXT NOT NULL,
     status     TEXT NOT NULL CHECK (status IN ('requested', 'unknown', 'captured', 'declined', 'refunded')),
     reference  TEXT NOT NULL,
     fence      INTEGER NOT NULL,
     charge_id  TEXT,
     created_at TEXT NOT NULL,
     CHECK ((charge_id IS NOT NULL) = (status IN ('captured', 'refunded')))
   ) STRICT;
   CREATE INDEX payments_by_reference ON payments (reference, fence);
   CREATE UNIQUE INDEX one_open_payment_per_reference ON payments (reference) WHERE status IN ('requested', 'unknown');
   CREATE INDEX payments_by_status ON payments (status);`,
  `ALTER TABLE payments ADD COLUMN idempotency_key TEXT;
   ALTER TABLE payments ADD COLUMN inquiry_until_ms INTEGER NOT NULL DEFAULT 0;
   CREATE INDEX payments_by_key ON payments (idempotency_key, fence);`,
  `ALTER TABLE payments ADD COLUMN refunded_amount INTEGER NOT NULL DEFAULT 0;
   ALTER TABLE payments ADD COLUMN refunding_amount INTEGER NOT NULL DEFAULT 0
     CHECK (refunding_amount >= 0 AND refunded_amount + refunding_amount <= amount);`,
];

interface Row {
  readonly payment_id: string;
  readonly tenant: string;
  readonly user: string;
  readonly booking_id: string;
  readonly amount: number;
  readonly currency: string;
  readonly status: PaymentStatus;
  readonly reference: string;
  readonly fence: number;
  readonly charge_id: string | null;
  readonly refunded_amount: number;
  readonly created_at: string;
}

export function sqlitePaymentRepository(database: DatabaseSync): PaymentRepository {
  const newestByReference = database.prepare("SELECT * FROM payments WHERE reference = ? ORDER BY fence DESC LIMIT 1");
  const byId = database.prepare("SELECT * FROM payments WHERE payment_id = ?");
  const insert = database.prepare(
    `INSERT INTO payments (payment_id, tenant, user, booking_id, amount, currency, status, reference, fence, created_at,
       idempotency_key)
     VALUES (?, ?, ?, ?, ?, ?, 'requested', ?, ?, ?, ?)`,
  );
  const adopt = database.prepare("UPDATE payments SET fence = ? WHERE payment_id = ?");
  const move = database.prepare(
    `UPDATE payments SET status = ?, charge_id = ?
     WHERE payment_id = ? AND status IN (SELECT value FROM json_each(?))`,
  );
  const byAttempt = database.prepare(
    "SELECT * FROM payments WHERE idempotency_key = ? AND fence = ? AND tenant = ? AND user = ?",
  );
  const inquire = database.prepare(
    "UPDATE payments SET inquiry_until_ms = ? WHERE payment_id = ? AND inquiry_until_ms <= ?",
  );
  const stopInquiry = database.prepare("UPDATE payments SET inquiry_until_ms = 0 WHERE payment_id = ?");
  const counts = database.prepare("SELECT status, count(*) AS count FROM payments GROUP BY status");

  const rowOf = (paymentId: string) => byId.get(paymentId) as Row | undefined;

  function open(request: PaymentRequest, attempt: Attempt): Payment | "overtaken" {
    const newest = newestByReference.get(attempt.reference) as Row | undefined;
    if (newest !== undefined) {
      if (newest.fence > attempt.fence) return "overtaken";
      const payment = paymentOf(newest);
      if (attempt.number > 1 || isOpen(payment)) {
        adopt.run(attempt.fence, payment.paymentId);
        return payment;
      }
    }
    const { tenant, user, bookingId, amount, currency } = request;
    const now = new Date();
    const paymentId = newId(now.getTime());
    const { key, reference, fence } = attempt;
    insert.run(paymentId, tenant, user, bookingId, amount, currency, reference, fence, now.toISOString(), key);
    return paymentOf(rowOf(paymentId) as Row);
  }

  function settle(payment: Payment, settlement: Settlement): Payment {
    const { status } = settlement;
    const chargeId = settlement.status === "captured" ? settlement.chargeId : null;
    const moved = move.run(status, chargeId, payment.paymentId, JSON.stringify(predecessorsOf(status)));
    const row = rowOf(payment.paymentId) as Row;
    const settledAlike = row.status === status && row.charge_id === chargeId;
    if (moved.changes === 0 && !settledAlike) throw new IllegalTransitionError(payment.paymentId, row.status, status);
    return paymentOf(row);
  }

  return {
    open: (request, attempt) => inTransaction(database, () => open(request, attempt)),
    settle: (payment, settlement) => inTransaction(database, () => settle(payment, settlement)),
    find: (tenant, paymentId) =>
      patiently(() => {
        const row = rowOf(paymentId);
        return row?.tenant === tenant ? paymentOf(row) : undefined;
      }),
    findByReference: (reference) =>
      patiently(() => {
        const row = newestByReference.get(reference) as Row | undefined;
        return row === undefined ? undefined : paymentOf(row);
      }),
    findByAttempt: ({ key, fence, tenant, user }) =>
      patiently(() => {
        const row = byAttempt.get(key, fence, tenant, user) as Row | undefined;
        return row === undefined ? undefined : paymentOf(row);
      }),
    beginInquiry: ({ paymentId }, forMs) =>
      patiently(() => {
        const now = Date.now();
        return inquire.run(now + forMs, paymentId, now).changes > 0;
      }),
    endInquiry: ({ paymentId }) => patiently(() => void stopInquiry.run(paymentId)),
    countByStatus: () =>
      patiently(() => {
        const rows = counts.all() as unknown as { readonly status: string; readonly count: number }[];
        return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
      }),
  };
}

function paymentOf(row: Row): Payment {
  return {
    paymentId: row.payment_id,
    tenant: row.tenant,
    user: row.user,
    bookingId: row.booking_id,
    amount: row.amount,
    currency: row.currency,
    status: row.status,
    reference: row.reference,
    chargeId: row.charge_id ?? undefined,
    refundedAmount: row.refunded_amount,
    createdAt: row.created_at,
  };
}
