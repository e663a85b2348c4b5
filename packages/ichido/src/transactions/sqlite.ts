/**
 * node:sqlite and better-sqlite3: one connection, so transactions run on it one after the other; see `commit-queue.ts`.
 */
import { knownOptions } from "../core/contract/option-checks.ts";
import { limits } from "../core/contract/defaults.ts";
import type { ExecuteOptions } from "../core/contract/transaction.ts";
import { handleOf, whileOpen, type TransactionHandle, type TransactionRunner } from "./handle.ts";
import { CommitQueue } from "./commit-queue.ts";
import { sqliteValue } from "./values.ts";

interface SqliteStatement {
  all(...values: never[]): unknown[];
  run(...values: never[]): { readonly changes: number | bigint };
}

export interface NodeSqliteDatabase {
  prepare(sql: string): SqliteStatement & { columns?(): readonly unknown[] };
  exec(sql: string): unknown;
  readonly isTransaction?: boolean;
}

export interface BetterSqlite3Database {
  prepare(sql: string): SqliteStatement & { readonly reader: boolean };
  exec(sql: string): unknown;
  readonly inTransaction: boolean;
}

type Row = Readonly<Record<string, unknown>>;

type Statement = ReturnType<(NodeSqliteDatabase | BetterSqlite3Database)["prepare"]>;

interface Kept {
  readonly statement: Statement;
  readonly reads: boolean;
}

/** Those of the few texts that come again and again. */
const kept = new WeakMap<object, Map<string, Kept>>();

function prepare(database: NodeSqliteDatabase | BetterSqlite3Database, sql: string): Kept {
  const statement = database.prepare(sql);
  // A connection of node:sqlite may be set to give rows without names.
  if ("setReturnArrays" in statement) (statement as { setReturnArrays(on: boolean): void }).setReturnArrays(false);
  const reads =
    "reader" in statement
      ? statement.reader
      : ((statement as { columns?(): readonly unknown[] }).columns?.().length ?? 0) > 0;
  return { statement, reads };
}

function keptOn(database: NodeSqliteDatabase | BetterSqlite3Database, sql: string): Kept {
  let texts = kept.get(database);
  if (texts === undefined) {
    texts = new Map();
    kept.set(database, texts);
  }
  let one = texts.get(sql);
  if (one === undefined) {
    one = prepare(database, sql);
    texts.set(sql, one);
  }
  return one;
}

function execute(
  database: NodeSqliteDatabase | BetterSqlite3Database,
  sql: string,
  values: readonly unknown[],
  { frequent = false }: ExecuteOptions = {},
): { readonly rows: readonly Row[]; readonly affected: number } {
  const { statement, reads } = frequent ? keptOn(database, sql) : prepare(database, sql);
  const bound = values.map(sqliteValue) as unknown as readonly never[];
  if (reads) {
    const rows = statement.all(...bound) as readonly Row[];
    return { rows, affected: rows.length };
  }
  return { rows: [], affected: Number(statement.run(...bound).changes) };
}

/** A `DatabaseSync` after BEGIN. */
export function fromNodeSqlite(database: NodeSqliteDatabase): TransactionHandle {
  return handleOn(database);
}

/** A `Database` after BEGIN. */
export function fromBetterSqlite3(database: BetterSqlite3Database): TransactionHandle {
  return handleOn(database);
}

function handleOn(database: NodeSqliteDatabase | BetterSqlite3Database, writesAlone?: boolean): TransactionHandle {
  return handleOf({
    dialect: "sqlite",
    writesAlone,
    inside: () => ("inTransaction" in database ? database.inTransaction : database.isTransaction),
    execute: (sql, values, options) => execute(database, sql, values, options),
  });
}

const lockTimeoutMsDefault = 5_000;

export interface SqliteTransactionsOptions {
  /** How long a transaction waits for the file while another connection writes. Default 5000. */
  readonly lockTimeoutMs?: number;
  /**
   * Transactions that wait in line share a commit, and with it the wait for the disk: several times the throughput
   * under load. For functions that wait for nothing but the database: a function that waits for the end of another
   * transaction, even through other code, would wait for its own. Default false; see docs/reference/transactions.md.
   */
  readonly shareCommits?: boolean;
}

/** One for all runners of a connection. */
const queues = new WeakMap<object, CommitQueue>();

function queueOf(database: NodeSqliteDatabase | BetterSqlite3Database): CommitQueue {
  let queue = queues.get(database);
  if (queue === undefined) {
    queue = new CommitQueue({
      database,
      nowMs: () => performance.now(),
      exec: (word) => void keptOn(database, word).statement.run(),
      get isInside() {
        return "inTransaction" in database ? database.inTransaction : (database.isTransaction ?? false);
      },
    });
    queues.set(database, queue);
  }
  return queue;
}

/**
 * Give this connection to nothing else that writes, except to the store, which knows to wait: a statement from elsewhere
 * would land inside whichever transaction is open.
 */
function sqliteTransactions<Database extends NodeSqliteDatabase | BetterSqlite3Database>(
  database: Database,
  options: SqliteTransactionsOptions,
): TransactionRunner<Database> {
  knownOptions("the transactions of SQLite", options, { lockTimeoutMs: true, shareCommits: true });
  const { lockTimeoutMs = lockTimeoutMsDefault, shareCommits = false } = options;
  const queue = queueOf(database);
  return {
    dialect: "sqlite",
    run: (fn, { callMs = limits.controlMsDefault } = {}) =>
      queue.run({ lockTimeoutMs, waitMs: callMs, shares: shareCommits }, () =>
        whileOpen(handleOn(database, true), (open) => fn(database, open)),
      ),
  };
}

export function nodeSqliteTransactions<Database extends NodeSqliteDatabase>(
  database: Database,
  options: SqliteTransactionsOptions = {},
): TransactionRunner<Database> {
  return sqliteTransactions(database, options);
}

export function betterSqlite3Transactions<Database extends BetterSqlite3Database>(
  database: Database,
  options: SqliteTransactionsOptions = {},
): TransactionRunner<Database> {
  return sqliteTransactions(database, options);
}
