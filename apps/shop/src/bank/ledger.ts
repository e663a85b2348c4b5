/**
 * The bank's ledger: what was charged and refunded, in a file of its own. Two bank processes on one file are one bank:
 * every order is one transaction that takes the write lock before it looks whether the reference is known.
 */
import { randomUUID } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { inTransaction, openDatabase, patiently } from "../database/sqlite-file.ts";

export interface Charge {
  readonly chargeId: string;
  readonly reference: string;
  readonly amount: number;
  readonly currency: string;
  readonly at: string;
}

export interface Refund extends Charge {
  readonly refundId: string;
}

export type ChargeOrder = Pick<Charge, "reference" | "amount" | "currency">;
export type RefundOrder = Pick<Charge, "reference" | "chargeId" | "amount">;

/** How the bank takes this one order. */
export interface Manner {
  readonly decline: boolean;
  /** A bank that does not honour idempotency references: every order is new. */
  readonly ignoreReference: boolean;
}

export type ChargeReply =
  | { readonly kind: "charged" | "charged-before"; readonly charge: Charge }
  | { readonly kind: "declined" | "conflict" };

export type RefundReply =
  | { readonly kind: "refunded" | "refunded-before"; readonly refund: Refund }
  | { readonly kind: "declined" | "conflict" | "no-such-charge" | "exceeds-charge" };

export type Decline = Pick<Charge, "reference" | "at">;

export interface Findings {
  readonly charges: readonly Charge[];
  readonly declines: readonly Decline[];
}

export interface RefundFindings {
  readonly refunds: readonly Refund[];
  readonly declines: readonly Decline[];
}

export interface Ledger {
  charge(order: ChargeOrder, manner: Manner): Promise<ChargeReply>;
  refund(order: RefundOrder, manner: Manner): Promise<RefundReply>;
  find(reference: string): Promise<Findings>;
  findRefunds(reference: string): Promise<RefundFindings>;
  all(): Promise<{ readonly charges: readonly Charge[]; readonly refunds: readonly Refund[] }>;
  close(): void;
}

/** `entry_id` is the charge or refund that the reference stands for; absent: the order was declined. */
const migrations = [
  `CREATE TABLE charges (
     charge_id TEXT PRIMARY KEY, reference TEXT NOT NULL, amount INTEGER NOT NULL, currency TEXT NOT NULL, at TEXT NOT NULL
   ) STRICT;
   CREATE INDEX charges_by_reference ON charges (reference);
   CREATE TABLE refunds (
     refund_id TEXT PRIMARY KEY, charge_id TEXT NOT NULL REFERENCES charges, reference TEXT NOT NULL,
     amount INTEGER NOT NULL, currency TEXT NOT NULL, at TEXT NOT NULL
   ) STRICT;
   CREATE INDEX refunds_by_charge ON refunds (charge_id);
   CREATE TABLE known_references (
     kind TEXT NOT NULL, reference TEXT NOT NULL, order_text TEXT NOT NULL, entry_id TEXT, at_ms INTEGER NOT NULL,
     PRIMARY KEY (kind, reference)
   ) STRICT;`,
  "CREATE INDEX refunds_by_reference ON refunds (reference)",
];

interface Known {
  readonly order_text: string;
  readonly entry_id: string | null;
}

const CHARGE_COLUMNS = "charge_id AS chargeId, reference, amount, currency, at";
const REFUND_COLUMNS = `refund_id AS refundId, ${CHARGE_COLUMNS}`;

export async function openLedger(file: string, retentionMs: number): Promise<Ledger> {
  const database = await openDatabase(file, migrations);
  const references = referenceBook(database, retentionMs);
  const chargeById = database.prepare(`SELECT ${CHARGE_COLUMNS} FROM charges WHERE charge_id = ?`);
  const refundById = database.prepare(`SELECT ${REFUND_COLUMNS} FROM refunds WHERE refund_id = ?`);
  const refundedSoFar = database.prepare("SELECT coalesce(sum(amount), 0) AS total FROM refunds WHERE charge_id = ?");
  const insertCharge = database.prepare("INSERT INTO charges VALUES (?, ?, ?, ?, ?)");
  const insertRefund = database.prepare("INSERT INTO refunds VALUES (?, ?, ?, ?, ?, ?)");
  const chargesByReference = database.prepare(
    `SELECT ${CHARGE_COLUMNS} FROM charges WHERE reference = ? ORDER BY rowid`,
  );
  const refundsByReference = database.prepare(
    `SELECT ${REFUND_COLUMNS} FROM refunds WHERE reference = ? ORDER BY rowid`,
  );
  const allCharges = database.prepare(`SELECT ${CHARGE_COLUMNS} FROM charges ORDER BY rowid`);
  const allRefunds = database.prepare(`SELECT ${REFUND_COLUMNS} FROM refunds ORDER BY rowid`);

  function charge(order: ChargeOrder, manner: Manner): ChargeReply {
    const { reference, amount, currency } = order;
    const text = JSON.stringify([amount, currency]);
    const known = manner.ignoreReference ? undefined : references.known("charge", reference);
    if (known !== undefined) {
      if (known.order_text !== text) return { kind: "conflict" };
      if (known.entry_id === null) return { kind: "declined" };
      return { kind: "charged-before", charge: chargeById.get(known.entry_id) as unknown as Charge };
    }
    const chargeId = manner.decline ? null : `ch_${randomUUID()}`;
    references.note("charge", reference, text, chargeId);
    if (chargeId === null) return { kind: "declined" };
    insertCharge.run(chargeId, reference, amount, currency, new Date().toISOString());
    return { kind: "charged", charge: chargeById.get(chargeId) as unknown as Charge };
  }

  function refund(order: RefundOrder, manner: Manner): RefundReply {
    const { reference, chargeId, amount } = order;
    const text = JSON.stringify([chargeId, amount]);
    const known = manner.ignoreReference ? undefined : references.known("refund", reference);
    if (known !== undefined) {
      if (known.order_text !== text) return { kind: "conflict" };
      if (known.entry_id === null) return { kind: "declined" };
      return { kind: "refunded-before", refund: refundById.get(known.entry_id) as unknown as Refund };
    }
    const charged = chargeById.get(chargeId) as unknown as Charge | undefined;
    if (charged === undefined) return { kind: "no-such-charge" };
    const { total } = refundedSoFar.get(chargeId) as { total: number };
    if (amount > charged.amount - total) return { kind: "exceeds-charge" };
    const refundId = manner.decline ? null : `re_${randomUUID()}`;
    references.note("refund", reference, text, refundId);
    if (refundId === null) return { kind: "declined" };
    insertRefund.run(refundId, chargeId, reference, amount, charged.currency, new Date().toISOString());
    return { kind: "refunded", refund: refundById.get(refundId) as unknown as Refund };
  }

  return {
    charge: (order, manner) => inTransaction(database, () => charge(order, manner)),
    refund: (order, manner) => inTransaction(database, () => refund(order, manner)),
    find: (reference) =>
      patiently(() => ({
        charges: chargesByReference.all(reference) as unknown as Charge[],
        declines: references.declines("charge", reference),
      })),
    findRefunds: (reference) =>
      patiently(() => ({
        refunds: refundsByReference.all(reference) as unknown as Refund[],
        declines: references.declines("refund", reference),
      })),
    all: () =>
      patiently(() => ({
        charges: allCharges.all() as unknown as Charge[],
        refunds: allRefunds.all() as unknown as Refund[],
      })),
    close: () => database.close(),
  };
}

/** Which references the bank still remembers. Entries of the ledger stay for ever, references for the retention only. */
function referenceBook(database: DatabaseSync, retentionMs: number) {
  const select = database.prepare(
    "SELECT order_text, entry_id FROM known_references WHERE kind = ? AND reference = ? AND at_ms > ?",
  );
  const upsert = database.prepare("INSERT OR REPLACE INTO known_references VALUES (?, ?, ?, ?, ?)");
  const declined = database.prepare(
    "SELECT reference, at_ms FROM known_references WHERE kind = ? AND reference = ? AND entry_id IS NULL",
  );
  return {
    known: (kind: string, reference: string) =>
      select.get(kind, reference, Date.now() - retentionMs) as Known | undefined,
    note: (kind: string, reference: string, orderText: string, entryId: string | null) => {
      upsert.run(kind, reference, orderText, entryId, Date.now());
    },
    declines: (kind: string, reference: string) =>
      (declined.all(kind, reference) as unknown as { reference: string; at_ms: number }[]).map((row) => ({
        reference: row.reference,
        at: new Date(row.at_ms).toISOString(),
      })),
  };
}
