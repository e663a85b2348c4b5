import { DatabaseSync } from "node:sqlite";
import { sqliteStore } from "ichido/sqlite";
import { nodeSqliteTransactions } from "ichido/transactions";
import type { SqliteTransactionsOptions } from "ichido/transactions";
import type { Side } from "./sides.ts";

export function sqliteSide(file: string, options: SqliteTransactionsOptions = {}): Side {
  const database = new DatabaseSync(file);
  const store = sqliteStore(database);
  const close = async (): Promise<void> => {
    await store.close();
    database.close();
  };
  return { store, runner: nodeSqliteTransactions(database, options), connections: () => 1, close };
}
