/**
 * One SQLite database in memory with the tables of outbox and inbox, and a clock that the history gives: SQLite lets a
 * connection put its own function in the place of `unixepoch`, so the statements run as they are.
 */
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { createInbox } from "../../packages/ichido/src/inbox/inbox.ts";
import { laneCount } from "../../packages/ichido/src/outbox/lanes.ts";
import { createOutbox } from "../../packages/ichido/src/outbox/outbox.ts";
import type { TransactionResult } from "../../packages/ichido/src/core/contract/transaction.ts";
import { nodeSqliteTransactions } from "../../packages/ichido/src/transactions/sqlite.ts";
import { sqliteValue } from "../../packages/ichido/src/transactions/values.ts";

const clock = { nowMs: () => 0 };

async function opened(): Promise<DatabaseSync> {
  const database = new DatabaseSync(":memory:");
  database.function("unixepoch", { varargs: false }, (_modifier) => clock.nowMs() / 1_000);
  const transactions = nodeSqliteTransactions(database);
  await createOutbox({ transactions, topics: {}, source: "/simulation" }).migrate();
  await createInbox({ transactions, retentionMs: 1 }).migrate();
  database.exec("create table effects (place integer primary key, handler text not null, event text not null)");
  for (let lane = 0; lane < laneCount; lane += 1) {
    database.prepare("insert into ichido_outbox_lanes (lane) values (?)").run(lane);
  }
  return database;
}

const database = await opened();

const tables = database
  .prepare("select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'")
  .all()
  .map(({ name }) => String(name))
  .filter((name) => !["ichido_outbox_lanes", "ichido_inbox_clock"].includes(name) && !name.includes("migration"));

interface Prepared {
  readonly statement: StatementSync;
  readonly hasRows: boolean;
}

const textsMax = 10_000;
const statements = new Map<string, Prepared>();

function prepared(sql: string): Prepared {
  let entry = statements.get(sql);
  if (entry === undefined) {
    const statement = database.prepare(sql);
    entry = { statement, hasRows: statement.columns().length > 0 };
    if (statements.size >= textsMax) statements.clear();
    statements.set(sql, entry);
  }
  return entry;
}

/** As it was before the first history. */
export function emptyDatabase(nowMs: () => number): void {
  clock.nowMs = nowMs;
  if (database.isTransaction) database.exec("rollback");
  for (const table of [...tables, "sqlite_sequence"]) runStatement(`delete from ${table}`);
  runStatement("update ichido_outbox_lanes set session = null");
  runStatement("update ichido_inbox_clock set last_ms = ?, steady_ms = 0", [Math.floor(nowMs())]);
}

export function runStatement(sql: string, values: readonly unknown[] = []): TransactionResult {
  const { statement, hasRows } = prepared(sql);
  const bound = values.map(sqliteValue) as readonly SQLInputValue[];
  if (!hasRows) return { rows: [], affected: Number(statement.run(...bound).changes) };
  const rows = statement.all(...bound);
  return { rows, affected: rows.length };
}
