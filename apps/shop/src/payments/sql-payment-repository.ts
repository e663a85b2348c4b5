/** Payments in the business database. */
import { change, select, type Database, type Sql } from "../database/database.ts";
import { newId } from "../ids.ts";
import { enter, lead, type Attempt } from "./attempts.ts";
import type { OpenRow } from "./open-rows.ts";
import {
  IllegalTransitionError,
  isOpen,
  paymentTransitions,
  type Payment,
  type PaymentRequest,
  type PaymentStatus,
} from "./payment.ts";
import type { PaymentRepository, Settlement } from "./payment-repository.ts";

/** `refunding_amount` is what refunds under way may yet take: reserved first, so that they never exceed the payment. */
export const paymentTable = `CREATE TABLE IF NOT EXISTS payments (
  payment_id       {name} PRIMARY KEY,
  tenant           {name} NOT NULL,
  user_id          {name} NOT NULL,
  booking_id       {name} NOT NULL,
  amount           {integer} NOT NULL CHECK (amount > 0),
  currency         {name} NOT NULL,
  status           {name} NOT NULL CHECK (status IN ('requested', 'unknown', 'captured', 'declined', 'refunded')),
  reference        {name} NOT NULL,
  charge_id        {name},
  refunded_amount  {integer} NOT NULL,
  refunding_amount {integer} NOT NULL CHECK (refunding_amount >= 0),
  created_at       {name} NOT NULL,
  CHECK ((charge_id IS NOT NULL) = (status IN ('captured', 'refunded'))),
  CHECK (refunded_amount + refunding_amount <= amount)
){table}`;

interface Row {
  readonly payment_id: string;
  readonly tenant: string;
  readonly user_id: string;
  readonly booking_id: string;
  readonly amount: number;
  readonly currency: string;
  readonly status: PaymentStatus;
  readonly reference: string;
  readonly charge_id: string | null;
  readonly refunded_amount: number;
  readonly created_at: string;
}

export function sqlPaymentRepository({ direct, transactions }: Database): PaymentRepository {
  return {
    open: (request, attempt) => transactions.run((_tx, sql) => open(sql, request, attempt)),
    settle: (payment, settlement) => settle(direct, payment, settlement),
    async find(tenant, paymentId) {
      const payment = await byId(direct, paymentId);
      return payment?.tenant === tenant ? payment : undefined;
    },
    async findByReference(reference) {
      const [row] = await select<Row>(
        direct,
      )`SELECT p.* FROM payments p JOIN attempts a ON a.entry_id = p.payment_id WHERE a.reference = ${reference}`;
      return row === undefined ? undefined : paymentOf(row);
    },
    listOpen: ({ afterId, openedBefore, limit }) =>
      select<OpenRow>(direct)`SELECT payment_id AS id, reference FROM payments
        WHERE status = 'unknown' AND payment_id > ${afterId} AND created_at < ${openedBefore}
        ORDER BY payment_id LIMIT ${limit}`,
    async countByStatus() {
      const rows = await select<{ status: string; total: number }>(
        direct,
      )`SELECT status, count(*) AS total FROM payments GROUP BY status`;
      return Object.fromEntries(rows.map(({ status, total }) => [status, total]));
    },
  };
}

async function open(sql: Sql, request: PaymentRequest, attempt: Attempt): Promise<Payment | "overtaken"> {
  const entered = await enter(sql, attempt);
  if (entered === "overtaken") return "overtaken";
  const former = entered.entryId === undefined ? undefined : await byId(sql, entered.entryId);
  if (former !== undefined && (attempt.number > 1 || isOpen(former))) return former;

  const { tenant, user, bookingId, amount, currency } = request;
  const { reference } = attempt;
  const now = new Date();
  const paymentId = newId(now.getTime());
  const createdAt = now.toISOString();
  await change(sql)`INSERT INTO payments (payment_id, tenant, user_id, booking_id, amount, currency, status, reference,
      refunded_amount, refunding_amount, created_at)
    VALUES (${paymentId}, ${tenant}, ${user}, ${bookingId}, ${amount}, ${currency}, 'requested', ${reference},
      0, 0, ${createdAt})`;
  await lead(sql, attempt, paymentId);
  return { ...request, paymentId, status: "requested", reference, chargeId: undefined, refundedAmount: 0, createdAt };
}

async function settle(sql: Sql, { paymentId }: Payment, settlement: Settlement): Promise<Payment> {
  const { status } = settlement;
  const chargeId = settlement.status === "captured" ? settlement.chargeId : undefined;
  const moved = await paymentTransitions.move(sql, {
    table: "payments",
    key: { payment_id: paymentId },
    column: "status",
    to: status,
    set: { charge_id: chargeId ?? null },
  });
  const payment = await byId(sql, paymentId);
  if (payment === undefined) throw new Error(`payment ${paymentId} is gone`);
  const settledAlike = moved.outcome === "already" && payment.chargeId === chargeId;
  if (moved.outcome !== "applied" && !settledAlike) throw new IllegalTransitionError(paymentId, payment.status, status);
  return payment;
}

async function byId(sql: Sql, paymentId: string): Promise<Payment | undefined> {
  const [row] = await select<Row>(sql)`SELECT * FROM payments WHERE payment_id = ${paymentId}`;
  return row === undefined ? undefined : paymentOf(row);
}

function paymentOf(row: Row): Payment {
  return {
    paymentId: row.payment_id,
    tenant: row.tenant,
    user: row.user_id,
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
