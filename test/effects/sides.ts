/** A process of its own, as far as a database can tell: a store and transactions on its own connections. */
import type { Store, TransactionHandle } from "ichido";
import { mysqlStore } from "ichido/mysql";
import { mariadbTransactions, postgresTransactions } from "ichido/transactions";
import type { SqliteTransactionsOptions, TransactionRunner } from "ichido/transactions";
import { createPool as createMariadbPool } from "mariadb";
import postgres from "postgres";
import { mysqlSide } from "./mysql-side.ts";
import { postgresSide } from "./postgres-side.ts";
import { sqliteSide } from "./sqlite-side.ts";

export { addEffect } from "./add-effect.ts";

export interface Side {
  readonly store: Store;
  readonly runner: TransactionRunner<unknown>;
  /** Connections that this side holds now. */
  readonly connections: () => number;
  close(): Promise<void>;
}

export function openSide(
  dialect: TransactionHandle["dialect"],
  url: string,
  sqliteOptions: SqliteTransactionsOptions = {},
): Side {
  if (dialect === "postgres") return postgresSide(url);
  if (dialect === "mysql") return mysqlSide(url);
  return sqliteSide(url, sqliteOptions);
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
