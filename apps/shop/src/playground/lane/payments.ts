/** The rows of a lane. Written before the bank is asked, settled with the bank's answer. */
import { change, select, type Sql } from "../../database/database.ts";
import { inDialect } from "../../database/schema.ts";

export interface Order {
  readonly orderId: string;
  readonly amount: number;
  readonly currency: string;
}

export interface Payment extends Order {
  readonly reference: string;
  /** Absent: the bank has not said that it charged. */
  readonly chargeId: string | undefined;
}

const table = `CREATE TABLE IF NOT EXISTS payments (
  reference {name} PRIMARY KEY, order_id {name} NOT NULL, amount {integer} NOT NULL, currency {name} NOT NULL,
  charge_id {name}, created_at {name} NOT NULL
){table}`;

interface Row {
  readonly order_id: string;
  readonly amount: number;
  readonly currency: string;
  readonly charge_id: string | null;
}

export interface Payments {
  /** Again under the same reference: nothing changes. */
  open(reference: string, order: Order): Promise<void>;
  settle(reference: string, chargeId: string): Promise<void>;
  find(reference: string): Promise<Payment | undefined>;
}

/** `written`: a row of this reference was. */
export async function openPayments(
  sql: Sql,
  written: (what: "row-opened" | "row-settled", reference: string) => Promise<void>,
): Promise<Payments> {
  await sql.execute(inDialect(sql.dialect, table), []);
  return {
    async open(reference, { orderId, amount, currency }) {
      const at = new Date().toISOString();
      await change(
        sql,
        "ON CONFLICT (reference) DO NOTHING",
      )`INSERT INTO payments (reference, order_id, amount, currency, charge_id, created_at)
        VALUES (${reference}, ${orderId}, ${amount}, ${currency}, ${null}, ${at})`;
      await written("row-opened", reference);
    },
    async settle(reference, chargeId) {
      await change(sql)`UPDATE payments SET charge_id = ${chargeId} WHERE reference = ${reference}`;
      await written("row-settled", reference);
    },
    async find(reference) {
      const [row] = await select<Row>(sql)`SELECT order_id, amount, currency, charge_id FROM payments
        WHERE reference = ${reference}`;
      if (row === undefined) return undefined;
      const { order_id: orderId, amount, currency, charge_id: chargeId } = row;
      return { reference, orderId, amount, currency, chargeId: chargeId ?? undefined };
    },
  };
}
