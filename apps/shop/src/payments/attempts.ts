/**
 * Who may act under a reference. Every call of the bank and every order is named by a reference, the same on every attempt;
 * its row here leads to the newest payment, refund or order under it, and remembers the fence of the latest attempt.
 */
import { change, select, type Sql } from "../database/database.ts";

/** One try. The same intent may be tried again after a crash; then `reference` is the same, `number` and `fence` greater. */
export interface Attempt {
  readonly reference: string;
  /** 1 for the first try. */
  readonly number: number;
  /** Orders the tries: one with a smaller fence than was seen before has been overtaken. */
  readonly fence: number;
  /** Aborts when this try has been overtaken. */
  readonly signal: AbortSignal;
}

export const attemptTable = `CREATE TABLE IF NOT EXISTS attempts (
  reference {name} PRIMARY KEY, fence {integer} NOT NULL, entry_id {name} NOT NULL
){table}`;

const NONE = "";

/**
 * One statement that writes or raises the fence, and so holds the row to the end of the transaction: of two attempts at
 * once the second waits, and the one with the smaller fence is told that it was overtaken. An insert that looked first,
 * or an update after it, would have two of them wait for each other.
 */
export async function enter(
  sql: Sql,
  { reference, fence }: Attempt,
): Promise<"overtaken" | { readonly entryId: string | undefined }> {
  await change(sql, raise[sql.dialect])`INSERT INTO attempts (reference, fence, entry_id)
    VALUES (${reference}, ${fence}, ${NONE})`;
  const [row] = await select<{ fence: number; entry_id: string }>(
    sql,
  )`SELECT fence, entry_id FROM attempts WHERE reference = ${reference}`;
  if (row === undefined || row.fence > fence) return "overtaken";
  return { entryId: row.entry_id === NONE ? undefined : row.entry_id };
}

const newer = "CASE WHEN attempts.fence > excluded.fence THEN attempts.fence ELSE excluded.fence END";
const raise = {
  sqlite: `ON CONFLICT (reference) DO UPDATE SET fence = ${newer}`,
  postgres: `ON CONFLICT (reference) DO UPDATE SET fence = ${newer}`,
  mysql: "ON DUPLICATE KEY UPDATE fence = greatest(fence, values(fence))",
} as const;

/** From now on the reference leads to this payment, refund or order. */
export async function lead(sql: Sql, { reference }: Attempt, entryId: string): Promise<void> {
  await change(sql)`UPDATE attempts SET entry_id = ${entryId} WHERE reference = ${reference}`;
}
