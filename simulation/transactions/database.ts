/**
 * One SQLite database in memory, with the store's own tables and those of a business. SQLite lets one transaction write at
 * a time; here several are open at once, as on a server with row locks: whichever has the word is brought in again from what
 * it wrote so far, and undone when another one has it. The locks see to it that this comes to the same each time.
 */
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import type { TransactionResult } from "../../packages/ichido/src/core/contract/transaction.ts";
import { connect } from "../../packages/ichido/src/stores/sqlite/database.ts";
import { migrations } from "../../packages/ichido/src/stores/sqlite/statements.generated.ts";
import { sqliteValue } from "../../packages/ichido/src/transactions/values.ts";

interface Written {
  readonly sql: string;
  readonly values: readonly unknown[];
  readonly affected: number;
}

/** What an open transaction has written. */
export type Log = Written[];

const database = new DatabaseSync(":memory:");
export const connection = connect(database);
for (const { sql } of migrations) database.exec(sql);
database.exec(`
  create table accounts (id integer primary key);
  insert into accounts values (1);
  create table entries (
    key text not null, body text not null, place integer not null,
    account integer not null references accounts (id) deferrable initially deferred,
    primary key (body, place)
  );
`);

export const insertEntry = "insert into entries (key, body, place, account) values (?, ?, ?, ?)";

/** Where a body writes what it did not wait for, and so says nothing of. */
export const strayPlace = 10;

/** The body of a handler whose statement it is; none for the store's own. */
export function bodyOf(sql: string, values: readonly unknown[]): string | undefined {
  return sql === insertEntry ? String(values[1]) : undefined;
}

const statements = new Map<string, { readonly statement: StatementSync; readonly reads: boolean }>();

function prepared(sql: string): { readonly statement: StatementSync; readonly reads: boolean } {
  let kept = statements.get(sql);
  if (kept === undefined) {
    const statement = database.prepare(sql);
    kept = { statement, reads: statement.columns().length > 0 };
    statements.set(sql, kept);
  }
  return kept;
}

function execute(sql: string, values: readonly unknown[]): TransactionResult {
  const { statement, reads } = prepared(sql);
  const bound = values.map(sqliteValue) as readonly SQLInputValue[];
  if (!reads) return { rows: [], affected: Number(statement.run(...bound).changes) };
  const rows = statement.all(...bound);
  return { rows, affected: rows.length };
}

/** Whose statements the database holds, uncommitted, at this moment. */
let present: Log | undefined;

function leave(): void {
  if (present === undefined) return;
  present = undefined;
  connection.run("ROLLBACK");
}

function enter(log: Log): void {
  if (present === log) return;
  leave();
  connection.run("BEGIN");
  present = log;
  for (const { sql, values, affected } of log) {
    if (execute(sql, values).affected !== affected) throw new Error(`came to something else a second time: ${sql}`);
  }
}

const isRead = /^\s*(?:--.*\n\s*)*select/i;

export function runWithin(log: Log, sql: string, values: readonly unknown[]): TransactionResult {
  enter(log);
  const result = execute(sql, values);
  if (!isRead.test(sql)) log.push({ sql, values, affected: result.affected });
  return result;
}

/** Throws where the database refuses; then everything is undone. */
export function commit(log: Log): void {
  enter(log);
  try {
    connection.run("COMMIT");
    present = undefined;
  } catch (error) {
    leave();
    throw error;
  }
}

export function rollBack(log: Log): void {
  if (present === log) leave();
}

/** Sees what is committed. */
export function read<Value>(run: () => Value): Value {
  leave();
  return run();
}

/** By itself, in a transaction of its own. */
export function write<Value>(run: () => Value): Value {
  leave();
  connection.run("BEGIN");
  try {
    const value = run();
    connection.run("COMMIT");
    return value;
  } catch (error) {
    connection.run("ROLLBACK");
    throw error;
  }
}

/** As it was before the first history. */
export function emptyDatabase(): void {
  leave();
  for (const table of ["entries", "ichido_records", "ichido_clock"]) connection.run(`delete from ${table}`);
}
