/** The embedded database: one file, any number of shops on one host. */
import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { sqliteStore, type SqliteStoreOptions } from "ichido/sqlite";
import { nodeSqliteTransactions, type TransactionRunner } from "ichido/transactions";
import type { Database, Sql } from "./database.ts";
import { openDatabase, patiently } from "./sqlite-file.ts";

const BUSY_MS = 10_000;

/**
 * Keys, single statements and transactions each have a connection: transactions span awaits, and a statement of another
 * request on the same connection would land inside them.
 */
export async function openSqlite(file: string, keys: SqliteStoreOptions = {}): Promise<Database> {
  const connections: DatabaseSync[] = [];
  const connect = async (): Promise<DatabaseSync> => {
    const connection = await openDatabase(file, []);
    connections.push(connection);
    return connection;
  };
  const store = sqliteStore(await connect(), keys);
  const single = await connect();
  const transactions = nodeSqliteTransactions(await connect(), {
    lockTimeoutMs: BUSY_MS,
  }) as TransactionRunner<unknown>;
  return {
    direct: { dialect: "sqlite", execute: (text, values) => patiently(() => execute(single, text, values)) },
    transactions,
    keyStore: store,
    // One writer at a time is what the file itself sees to.
    alone: (run) => transactions.run((_tx, sql) => run(sql)),
    async close() {
      await store.close();
      for (const connection of connections) connection.close();
    },
  };
}

function execute(
  connection: DatabaseSync,
  text: string,
  values: readonly unknown[],
): Awaited<ReturnType<Sql["execute"]>> {
  const statement = connection.prepare(text);
  const bound = values as readonly SQLInputValue[];
  if (statement.columns().length === 0) return { rows: [], affected: Number(statement.run(...bound).changes) };
  const rows = statement.all(...bound) as Record<string, unknown>[];
  return { rows, affected: rows.length };
}
