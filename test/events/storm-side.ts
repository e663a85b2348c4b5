/** Transactions for processes that live for a second: only the driver that is needed is loaded. */
import type { TransactionHandle } from "ichido";
import {
  mysql2Transactions,
  nodeSqliteTransactions,
  pgTransactions,
  type TransactionRunner,
} from "ichido/transactions";

export async function openRunner(
  dialect: TransactionHandle["dialect"],
  url: string,
): Promise<TransactionRunner<unknown>> {
  if (dialect === "postgres") {
    const { Pool } = await import("pg");
    const pool = new Pool({ connectionString: url, max: 10 });
    pool.on("error", () => {});
    return pgTransactions(pool);
  }
  if (dialect === "mysql") {
    const { createPool } = await import("mysql2/promise");
    return mysql2Transactions(createPool({ uri: url, connectionLimit: 10 }));
  }
  const { DatabaseSync } = await import("node:sqlite");
  return nodeSqliteTransactions(new DatabaseSync(url));
}
