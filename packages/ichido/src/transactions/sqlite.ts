/** node:sqlite and better-sqlite3: one connection, so a transaction is a turn on it. */
import type { ExecuteOptions } from "../core/transaction.ts";
import { handleOf, inTransaction, whileOpen, type TransactionHandle, type TransactionRunner } from "./handle.ts";

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

type Prepared = ReturnType<(NodeSqliteDatabase | BetterSqlite3Database)["prepare"]>;

/** Those of the few texts that come again and again. */
const kept = new WeakMap<object, Map<string, Prepared>>();

function keptOn(database: NodeSqliteDatabase | BetterSqlite3Database, sql: string): Prepared {
  let statements = kept.get(database);
  if (statements === undefined) {
    statements = new Map();
    kept.set(database, statements);
  }
  let statement = statements.get(sql);
  if (statement === undefined) {
    statement = database.prepare(sql);
    statements.set(sql, statement);
  }
  return statement;
}

function execute(
  database: NodeSqliteDatabase | BetterSqlite3Database,
  sql: string,
  values: readonly unknown[],
  { frequent = false }: ExecuteOptions = {},
): { readonly rows: readonly Row[]; readonly affected: number } {
  const statement = frequent ? keptOn(database, sql) : database.prepare(sql);
  const bound = values as readonly never[];
  const reads =
    "reader" in statement
      ? statement.reader
      : ((statement as { columns?(): readonly unknown[] }).columns?.().length ?? 0) > 0;
  if (reads) {
    const rows = statement.all(...bound) as readonly Row[];
    return { rows, affected: rows.length };
  }
  return { rows: [], affected: Number(statement.run(...bound).changes) };
}

/** A `DatabaseSync` after BEGIN. */
export function fromNodeSqlite(database: NodeSqliteDatabase): TransactionHandle {
  return handleOf({
    dialect: "sqlite",
    inside: () => database.isTransaction,
    execute: async (sql, values, options) => execute(database, sql, values, options),
  });
}

/** A `Database` after BEGIN. */
export function fromBetterSqlite3(database: BetterSqlite3Database): TransactionHandle {
  return handleOf({
    dialect: "sqlite",
    inside: () => database.inTransaction,
    execute: async (sql, values, options) => execute(database, sql, values, options),
  });
}

/** Longest queue of transactions that wait for the one connection. */
const queueMax = 10_000;
/** How long BEGIN waits while another connection holds the write lock. */
const busyMsDefault = 5_000;
const retryMs = 5;
/**
 * A store on the same connection finds its turn between transactions. It looks every few milliseconds, so transactions
 * back to back stop for a moment now and then: without it, heartbeats would starve and leases be lost.
 */
const heldMsMax = 25;
const pauseMs = 5;

export interface SqliteTransactionsOptions {
  /** How long a transaction waits for its turn at the file while another connection writes. Default 5000. */
  readonly busyMs?: number;
}

/** Primary result codes 5 and 6; better-sqlite3 gives (extended) names instead of numbers. */
function isBusy(error: unknown): boolean {
  const { errcode, code } = Object(error) as { readonly errcode?: unknown; readonly code?: unknown };
  if (typeof errcode === "number") return (errcode & 0xff) === 5 || (errcode & 0xff) === 6;
  return typeof code === "string" && /^SQLITE_(BUSY|LOCKED)/.test(code);
}

function isInside(database: NodeSqliteDatabase | BetterSqlite3Database): boolean {
  return "inTransaction" in database ? database.inTransaction : (database.isTransaction ?? false);
}

/** From the event loop, so that heartbeats go on whatever busy timeout the connection has. */
async function begin(database: NodeSqliteDatabase | BetterSqlite3Database, busyMs: number): Promise<void> {
  const untilMs = performance.now() + busyMs;
  for (;;) {
    try {
      database.exec("BEGIN IMMEDIATE");
      return;
    } catch (error) {
      if (!isBusy(error) || performance.now() >= untilMs) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, retryMs));
  }
}

/**
 * Transactions on one connection, one after the other. Give this connection to nothing else that writes, except to the
 * store, which knows to wait: a statement from elsewhere would land inside whichever transaction is open.
 */
function sqliteTransactions<Database extends NodeSqliteDatabase | BetterSqlite3Database>(
  database: Database,
  handle: (database: Database) => TransactionHandle,
  options: SqliteTransactionsOptions,
): TransactionRunner<Database> {
  const { busyMs = busyMsDefault } = options;
  let last: Promise<unknown> = Promise.resolve();
  let queued = 0;
  let heldFromMs = 0;

  async function breathe(): Promise<void> {
    if (performance.now() - heldFromMs < heldMsMax) return;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    heldFromMs = performance.now();
  }

  return {
    dialect: "sqlite",
    run(fn) {
      if (queued >= queueMax)
        return Promise.reject(new Error(`more than ${queueMax} transactions wait for this connection`));
      queued += 1;
      if (queued === 1) heldFromMs = performance.now();
      const turn = last.then(breathe).then(() =>
        inTransaction(
          {
            begin: () => begin(database, busyMs),
            commit: async () => {
              try {
                database.exec("COMMIT");
              } catch (error) {
                // A commit that failed may leave the transaction open, and the next one must not begin inside it.
                if (isInside(database)) database.exec("ROLLBACK");
                throw error;
              }
            },
            rollback: async () => database.exec("ROLLBACK"),
          },
          () => whileOpen(handle(database), (open) => fn(database, open)),
        ),
      );
      last = turn.then(
        () => undefined,
        () => undefined,
      );
      return turn.finally(() => {
        queued -= 1;
      });
    },
  };
}

export function nodeSqliteTransactions<Database extends NodeSqliteDatabase>(
  database: Database,
  options: SqliteTransactionsOptions = {},
): TransactionRunner<Database> {
  return sqliteTransactions(database, fromNodeSqlite, options);
}

export function betterSqlite3Transactions<Database extends BetterSqlite3Database>(
  database: Database,
  options: SqliteTransactionsOptions = {},
): TransactionRunner<Database> {
  return sqliteTransactions(database, fromBetterSqlite3, options);
}
