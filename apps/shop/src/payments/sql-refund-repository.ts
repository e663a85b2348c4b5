/** Refunds in the business database. */
import { change, select, type Database, type Sql } from "../database/database.ts";
import { newId } from "../ids.ts";
import { enter, lead, type Attempt } from "./attempts.ts";
import type { OpenRow } from "./open-rows.ts";
import type { PaymentStatus } from "./payment.ts";
import type { RefundOpening, RefundRepository, RefundSettlement } from "./refund-repository.ts";
import type { Refund, RefundRequest, RefundStatus } from "./refund.ts";

export const refundTable = `CREATE TABLE IF NOT EXISTS refunds (
  refund_id         {name} PRIMARY KEY,
  payment_id        {name} NOT NULL,
  user_id           {name} NOT NULL,
  amount            {integer} NOT NULL CHECK (amount > 0),
  status            {name} NOT NULL CHECK (status IN ('requested', 'refunded', 'declined', 'withdrawn')),
  reference         {name} NOT NULL,
  gateway_refund_id {name},
  refunded_after    {integer},
  created_at        {name} NOT NULL,
  FOREIGN KEY (payment_id) REFERENCES payments (payment_id)
){table}`;

interface Row {
  readonly refund_id: string;
  readonly payment_id: string;
  readonly tenant: string;
  readonly user_id: string;
  readonly amount: number;
  readonly currency: string;
  readonly charge_id: string;
  readonly payment_amount: number;
  readonly status: RefundStatus;
  readonly reference: string;
  readonly refunded_after: number | null;
  readonly created_at: string;
}

interface PaymentRow {
  readonly status: PaymentStatus;
  readonly amount: number;
  readonly refunded_amount: number;
  readonly refunding_amount: number;
}

export function sqlRefundRepository({ direct, transactions }: Database): RefundRepository {
  return {
    open: (request, attempt) => transactions.run((_tx, sql) => open(sql, request, attempt)),
    settle: (refund, settlement) => transactions.run((_tx, sql) => settle(sql, refund, settlement)),
    async findByReference(reference) {
      const [row] = await select<{ entry_id: string }>(
        direct,
      )`SELECT entry_id FROM attempts WHERE reference = ${reference}`;
      return row === undefined ? undefined : byId(direct, row.entry_id);
    },
    listOpen: ({ afterId, openedBefore, limit }) =>
      select<OpenRow>(direct)`SELECT refund_id AS id, reference FROM refunds
        WHERE status = 'requested' AND refund_id > ${afterId} AND created_at < ${openedBefore}
        ORDER BY refund_id LIMIT ${limit}`,
  };
}

async function open(sql: Sql, request: RefundRequest, attempt: Attempt): Promise<RefundOpening> {
  const entered = await enter(sql, attempt);
  if (entered === "overtaken") return { outcome: "overtaken" };
  const former = entered.entryId === undefined ? undefined : await byId(sql, entered.entryId);
  if (former?.status === "requested" || (attempt.number > 1 && former !== undefined && former.status !== "withdrawn")) {
    return { outcome: "opened", refund: former };
  }

  const { tenant, user, paymentId, amount } = request;
  const reserved = await change(sql)`UPDATE payments SET refunding_amount = refunding_amount + ${amount}
    WHERE payment_id = ${paymentId} AND tenant = ${tenant} AND status = 'captured'
      AND amount - refunded_amount - refunding_amount >= ${amount}`;
  if (reserved === 0) return refusalOf(sql, request);

  const now = new Date();
  const refundId = newId(now.getTime());
  await change(sql)`INSERT INTO refunds (refund_id, payment_id, user_id, amount, status, reference, created_at)
    VALUES (${refundId}, ${paymentId}, ${user}, ${amount}, 'requested', ${attempt.reference}, ${now.toISOString()})`;
  await lead(sql, attempt, refundId);
  return { outcome: "opened", refund: (await byId(sql, refundId)) as Refund };
}

async function refusalOf(sql: Sql, { paymentId, tenant }: RefundRequest): Promise<RefundOpening> {
  const [payment] = await select<PaymentRow>(
    sql,
  )`SELECT * FROM payments WHERE payment_id = ${paymentId} AND tenant = ${tenant}`;
  if (payment === undefined) return { outcome: "no-such-payment" };
  const { status, amount, refunded_amount: refunded, refunding_amount: reserved } = payment;
  if (status !== "captured") return { outcome: "not-captured", status };
  return { outcome: "exceeds", refundable: amount - refunded - reserved };
}

/** The refund's row first: whoever moves it from `requested` is the only one to touch the reservation. */
async function settle(
  sql: Sql,
  { refundId, paymentId, amount }: Refund,
  settlement: RefundSettlement,
): Promise<Refund> {
  const gatewayRefundId = settlement.status === "refunded" ? settlement.gatewayRefundId : null;
  const moved = await change(
    sql,
  )`UPDATE refunds SET status = ${settlement.status}, gateway_refund_id = ${gatewayRefundId}
    WHERE refund_id = ${refundId} AND status = 'requested'`;
  if (moved > 0 && settlement.status === "refunded") {
    // `status` comes first: MySQL assigns from left to right, and later ones see what was assigned.
    await change(sql)`UPDATE payments SET
        status = CASE WHEN refunded_amount + ${amount} = amount THEN 'refunded' ELSE status END,
        refunded_amount = refunded_amount + ${amount}, refunding_amount = refunding_amount - ${amount}
      WHERE payment_id = ${paymentId} AND status = 'captured'`;
    await change(sql)`UPDATE refunds SET refunded_after =
        (SELECT refunded_amount FROM payments WHERE payment_id = ${paymentId})
      WHERE refund_id = ${refundId}`;
  } else if (moved > 0) {
    await change(
      sql,
    )`UPDATE payments SET refunding_amount = refunding_amount - ${amount} WHERE payment_id = ${paymentId}`;
  }
  return (await byId(sql, refundId)) as Refund;
}

async function byId(sql: Sql, refundId: string): Promise<Refund | undefined> {
  const [row] = await select<Row>(sql)`SELECT r.*, p.tenant, p.currency, p.charge_id, p.amount AS payment_amount
    FROM refunds r JOIN payments p ON p.payment_id = r.payment_id WHERE r.refund_id = ${refundId}`;
  return row === undefined ? undefined : refundOf(row);
}

function refundOf(row: Row): Refund {
  const { refunded_after: refundedAmount } = row;
  return {
    refundId: row.refund_id,
    paymentId: row.payment_id,
    tenant: row.tenant,
    user: row.user_id,
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
