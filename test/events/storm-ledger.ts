/** What the storm's handlers write, and what is read off it in the end. Nothing is unique here: a second effect must show. */
import type { TransactionHandle } from "ichido";
import { payloadOf, type EventMessage } from "ichido/inbox";
import type { Side } from "../effects/sides.ts";

export interface Numbered {
  /** Place of the event among those of its key, from 0. */
  readonly number: number;
}

const tables = {
  postgres:
    "CREATE TABLE ledger (place bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, subject text NOT NULL, number int NOT NULL, event_id text NOT NULL)",
  mysql:
    "CREATE TABLE ledger (place bigint PRIMARY KEY AUTO_INCREMENT, subject varchar(100) NOT NULL, number int NOT NULL, event_id varchar(100) NOT NULL)",
  sqlite:
    "CREATE TABLE ledger (place integer PRIMARY KEY AUTOINCREMENT, subject text NOT NULL, number int NOT NULL, event_id text NOT NULL)",
};

const rowsOf = async (side: Side, sql: string): Promise<readonly Readonly<Record<string, unknown>>[]> =>
  (await side.runner.run((_tx, handle) => handle.execute(sql, []), { unwatched: true })).rows;

export async function createLedger(side: Side): Promise<void> {
  await rowsOf(side, tables[side.runner.dialect]);
}

export async function enter(handle: TransactionHandle, message: EventMessage): Promise<void> {
  const places = handle.dialect === "postgres" ? "$1, $2, $3" : "?, ?, ?";
  await handle.execute(`INSERT INTO ledger (subject, number, event_id) VALUES (${places})`, [
    message.key ?? "",
    payloadOf<Numbered>(message).number,
    message.id,
  ]);
}

export async function countLedger(side: Side): Promise<number> {
  return Number((await rowsOf(side, "SELECT count(*) AS entries FROM ledger"))[0]?.["entries"]);
}

export interface Verdict {
  readonly entries: number;
  readonly lost: readonly string[];
  readonly doubled: readonly string[];
  /** An entry whose number is not above those that stand before it, by place. */
  readonly inversions: readonly string[];
}

export async function judge(side: Side, expected: ReadonlySet<string>): Promise<Verdict> {
  const rows = await rowsOf(side, "SELECT subject, number, event_id FROM ledger ORDER BY place");
  const seen = new Set<string>();
  const doubled: string[] = [];
  const inversions: string[] = [];
  const last = new Map<string, number>();
  for (const row of rows) {
    const [id, subject, number] = [String(row["event_id"]), String(row["subject"]), Number(row["number"])];
    if (seen.has(id)) doubled.push(id);
    seen.add(id);
    const before = last.get(subject) ?? -1;
    if (number <= before) inversions.push(`${subject}: ${number} after ${before}`);
    last.set(subject, Math.max(before, number));
  }
  return { entries: rows.length, lost: [...expected].filter((id) => !seen.has(id)), doubled, inversions };
}
