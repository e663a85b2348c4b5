/** A process of its own, as far as a database can tell: a store and transactions on its own connections. */
import { DatabaseSync } from "node:sqlite";
import type { Store, TransactionHandle } from "ichido";
import { mysqlStore } from "ichido/mysql";
import { postgresStore } from "ichido/postgres";
import { sqliteStore } from "ichido/sqlite";
import {
  mariadbTransactions,
  mysql2Transactions,
  nodeSqliteTransactions,
  pgTransactions,
  postgresTransactions,
} from "ichido/transactions";
import type { SqliteTransactionsOptions, TransactionRunner } from "ichido/transactions";
import { createPool as createMariadbPool } from "mariadb";
import { createPool } from "mysql2/promise";
import { Pool } from "pg";
import postgres from "postgres";

export interface Side {
  readonly store: Store;
  readonly runner: TransactionRunner<unknown>;
  /** Connections that this side holds now. */
  readonly connections: () => number;
  close(): Promise<void>;
}

/** No unique name: a second effect must be visible, not prevented. */
export async function addEffect(handle: TransactionHandle, name: string, once: string | null = null): Promise<void> {
  const sql =
    handle.dialect === "postgres"
      ? "INSERT INTO effects (name, once) VALUES ($1, $2)"
      : "INSERT INTO effects (name, once) VALUES (?, ?)";
  await handle.execute(sql, [name, once]);
}

export function openSide(
  dialect: TransactionHandle["dialect"],
  url: string,
  sqliteOptions: SqliteTransactionsOptions = {},
): Side {
  if (dialect === "postgres") {
    const pool = new Pool({ connectionString: url, max: 10 });
    pool.on("error", () => {});
    const store = postgresStore(pool);
    const close = async (): Promise<void> => {
      await store.close();
      await pool.end();
    };
    return { store, runner: pgTransactions(pool), connections: () => pool.totalCount, close };
  }
  if (dialect === "mysql") {
    const pool = createPool({ uri: url, connectionLimit: 10 });
    const store = mysqlStore(pool);
    const close = async (): Promise<void> => {
      await store.close();
      await pool.end();
    };
    return { store, runner: mysql2Transactions(pool), connections: () => -1, close };
  }
  const database = new DatabaseSync(url);
  const store = sqliteStore(database);
  const close = async (): Promise<void> => {
    await store.close();
    database.close();
  };
  return { store, runner: nodeSqliteTransactions(database, sqliteOptions), connections: () => 1, close };
}

/** Transactions by postgres.js; the records are kept by `pg`, straight on the server. */
export function openPostgresJs(url: string, through = url): Side {
  const records = openSide("postgres", url);
  const sql = postgres(through, { max: 4, onnotice: () => undefined, connect_timeout: 5 });
  return {
    ...records,
    runner: postgresTransactions(sql),
    async close() {
      await sql.end({ timeout: 1 });
      await records.close();
    },
  };
}

/** By the connector of MariaDB. */
export function openMariadb(url: string): Side {
  const at = new URL(url);
  const where = { host: at.hostname, port: Number(at.port), user: at.username, database: at.pathname.slice(1) };
  const pool = createMariadbPool({ ...where, connectionLimit: 4 });
  const store = mysqlStore(pool);
  const close = async (): Promise<void> => {
    await store.close();
    await pool.end().catch(() => undefined);
  };
  return { store, runner: mariadbTransactions(pool), connections: () => -1, close };
}
