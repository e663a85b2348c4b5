/** Refunds in SQLite. */
import type { DatabaseSync } from "node:sqlite";
import { inTransaction, patiently } from "../database.ts";
import { newId } from "../ids.ts";
import type { Attempt } from "./payment-repository.ts";
import type { PaymentStatus } from "./payment.ts";
import type { RefundOpening, RefundRepository, RefundSettlement } from "./refund-repository.ts";
import type { Refund, RefundRequest, RefundStatus } from "./refund.ts";

export const refundMigrations: readonly string[] = [
  `CREATE TABLE refunds (
     refund_id         TEXT PRIMARY KEY,
     payment_id        TEXT NOT NULL REFERENCES payments,
     user              TEXT NOT NULL,
     amount            INTEGER NOT NULL CHECK (amount > 0),
     status            TEXT NOT NULL CHECK (status IN ('requested', 'refunded', 'declined', 'withdrawn')),
     reference         TEXT NOT NULL,
     idempotency_key   TEXT NOT NULL,
     fence             INTEGER NOT NULL,
     gateway_refund_id TEXT,
     refunded_after    INTEGER,
     created_at        TEXT NOT NULL,
     CHECK ((gateway_refund_id IS NOT NULL) = (status = 'refunded')),
     CHECK ((refunded_after IS NOT NULL) = (status = 'refunded'))
   ) STRICT;
   CREATE INDEX refunds_by_payment ON refunds (payment_id);
   CREATE INDEX refunds_by_reference ON refunds (reference, fence);
   CREATE INDEX refunds_by_key ON refunds (idempotency_key, fence);
   CREATE UNIQUE INDEX one_open_refund_per_reference ON refunds (reference) WHERE status = 'requested';`,
];

interface Row {
  readonly refund_id: string;
  readonly payment_id: string;
  readonly tenant: string;
  readonly user: string;
  readonly amount: number;
  readonly currency: string;
  readonly charge_id: string;
  readonly payment_amount: number;
  readonly status: RefundStatus;
  readonly reference: string;
  readonly fence: number;
  readonly refunded_after: number | null;
  readonly created_at: string;
}

interface PaymentRow {
  readonly status: PaymentStatus;
  readonly amount: number;
  readonly refunded_amount: number;
  readonly refunding_amount: number;
}

const COLUMNS = `SELECT r.*, p.tenant, p.currency, p.charge_id, p.amount AS payment_amount
  FROM refunds r JOIN payments p USING (payment_id)`;

export function sqliteRefundRepository(database: DatabaseSync): RefundRepository {
  const byId = database.prepare(`${COLUMNS} WHERE refund_id = ?`);
  const newestByReference = database.prepare(`${COLUMNS} WHERE r.reference = ? ORDER BY r.fence DESC LIMIT 1`);
  const byAttempt = database.prepare(
    `${COLUMNS} WHERE r.idempotency_key = ? AND r.fence = ? AND p.tenant = ? AND r.user = ?`,
  );
  const paymentById = database.prepare("SELECT * FROM payments WHERE payment_id = ? AND tenant = ?");
  const reserve = database.prepare(
    `UPDATE payments SET refunding_amount = refunding_amount + ?1
     WHERE payment_id = ?2 AND tenant = ?3 AND status = 'captured' AND amount - refunded_amount - refunding_amount >= ?1`,
  );
  const insert = database.prepare(
    `INSERT INTO refunds (refund_id, payment_id, user, amount, status, reference, idempotency_key, fence, created_at)
     VALUES (?, ?, ?, ?, 'requested', ?, ?, ?, ?)`,
  );
  const adopt = database.prepare("UPDATE refunds SET fence = ? WHERE refund_id = ?");
  const giveBack = database.prepare("UPDATE payments SET refunding_amount = refunding_amount - ? WHERE payment_id = ?");
  const grow = database.prepare(
    `UPDATE payments SET refunding_amount = refunding_amount - ?1, refunded_amount = refunded_amount + ?1,
       status = CASE WHEN refunded_amount + ?1 = amount THEN 'refunded' ELSE status END
     WHERE payment_id = ?2 AND status = 'captured' RETURNING refunded_amount`,
  );
  const settleRow = database.prepare(
    `UPDATE refunds SET status = ?, gateway_refund_id = ?, refunded_after = ? WHERE refund_id = ?`,
  );

  function open(request: RefundRequest, attempt: Attempt): RefundOpening {
    const newest = newestByReference.get(attempt.reference) as Row | undefined;
    if (newest !== undefined) {
      if (newest.fence > attempt.fence) return { outcome: "overtaken" };
      const continued = newest.status === "requested" || (attempt.number > 1 && newest.status !== "withdrawn");
      if (continued) {
        adopt.run(attempt.fence, newest.refund_id);
        return { outcome: "opened", refund: refundOf(newest) };
      }
    }
    const { tenant, user, paymentId, amount } = request;
    if (reserve.run(amount, paymentId, tenant).changes === 0) return refusalOf(request);
    const { reference, key, fence } = attempt;
    const now = new Date();
    const refundId = newId(now.getTime());
    insert.run(refundId, paymentId, user, amount, reference, key, fence, now.toISOString());
    return { outcome: "opened", refund: refundOf(byId.get(refundId) as unknown as Row) };
  }

  function refusalOf({ paymentId, tenant }: RefundRequest): RefundOpening {
    const payment = paymentById.get(paymentId, tenant) as PaymentRow | undefined;
    if (payment === undefined) return { outcome: "no-such-payment" };
    const { status, amount, refunded_amount: refunded, refunding_amount: reserved } = payment;
    if (status !== "captured") return { outcome: "not-captured", status };
    return { outcome: "exceeds", refundable: amount - refunded - reserved };
  }

  function settle(refund: Refund, settlement: RefundSettlement): Refund {
    const { refundId, paymentId } = refund;
    const row = byId.get(refundId) as unknown as Row;
    if (row.status !== "requested") return refundOf(row);
    if (settlement.status === "refunded") {
      const { refunded_amount: after } = grow.get(refund.amount, paymentId) as { readonly refunded_amount: number };
      settleRow.run("refunded", settlement.gatewayRefundId, after, refundId);
    } else {
      giveBack.run(refund.amount, paymentId);
      settleRow.run(settlement.status, null, null, refundId);
    }
    return refundOf(byId.get(refundId) as unknown as Row);
  }

  return {
    open: (request, attempt) => inTransaction(database, () => open(request, attempt)),
    settle: (refund, settlement) => inTransaction(database, () => settle(refund, settlement)),
    findByReference: (reference) =>
      patiently(() => {
        const row = newestByReference.get(reference) as Row | undefined;
        return row === undefined ? undefined : refundOf(row);
      }),
    findByAttempt: ({ key, fence, tenant, user }) =>
      patiently(() => {
        const row = byAttempt.get(key, fence, tenant, user) as Row | undefined;
        return row === undefined ? undefined : refundOf(row);
      }),
  };
}

function refundOf(row: Row): Refund {
  const { refunded_after: refundedAmount } = row;
  return {
    refundId: row.refund_id,
    paymentId: row.payment_id,
    tenant: row.tenant,
    user: row.user,
    amount: row.amount,
    currency: row.currency,
    chargeId: row.charge_id,
    status: row.status,
    reference: row.reference,
    after:
      refundedAmount === null
        ? undefined
        : { refundedAmount, paymentStatus: refundedAmount === row.payment_amount ? "refunded" : "captured" },
    createdAt: row.created_at,
  };
}
