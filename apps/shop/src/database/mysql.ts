/** MariaDB and MySQL, through a pool of `mysql2`. */
import { createPool } from "mysql2/promise";
import { mysqlStore } from "ichido/mysql";
import { mysql2Transactions, type TransactionResult, type TransactionRunner } from "ichido/transactions";
import { StartError } from "../errors.ts";
import type { Database, Sql } from "./database.ts";
import { runAgainOn } from "./run-again.ts";

const CONNECTIONS_MAX = 10;
const CONNECT_MS = 5_000;
const QUEUE_MAX = 1_000;
const LOCK_SECONDS = 30;

export async function openMysql(url: string): Promise<Database> {
  const pool = createPool({
    uri: url.replace(/^mariadb:/, "mysql:"),
    connectionLimit: CONNECTIONS_MAX,
    queueLimit: QUEUE_MAX,
    connectTimeout: CONNECT_MS,
    charset: "utf8mb4",
  });
  try {
    await pool.query("SELECT 1");
  } catch (error) {
    await pool.end();
    throw error;
  }
  const store = mysqlStore(pool as never);
  const statementsOf = (on: { query: (sql: string, values: unknown[]) => Promise<unknown> }): Sql => ({
    dialect: "mysql",
    execute: async (text, values) => resultOf(await on.query(text, [...values])),
  });
  return {
    direct: statementsOf(pool),
    transactions: runAgainOn(mysql2Transactions(pool as never), isTransient) as TransactionRunner<unknown>,
    keyStore: store,
    async alone(run) {
      const connection = await pool.getConnection();
      try {
        const sql = statementsOf(connection);
        // A lock of the server, not of a transaction: every CREATE TABLE commits by itself. Named after the database.
        const name = "concat('shop.', sha1(database()))";
        const { rows } = await sql.execute(`SELECT get_lock(${name}, ?) AS held`, [LOCK_SECONDS]);
        if (rows[0]?.held !== 1)
          throw new StartError(`another shop has been migrating this database for ${LOCK_SECONDS} s`);
        await run(sql);
      } finally {
        // Ended, not given back: the lock goes with the connection, whatever became of it.
        connection.destroy();
      }
    },
    async close() {
      await store.close();
      await pool.end();
    },
  };
}

/** The driver asks the server for the rows that an UPDATE found, whether or not their values changed. */
function resultOf(answer: unknown): TransactionResult {
  const [result] = answer as readonly [unknown, unknown];
  if (Array.isArray(result)) return { rows: result as Record<string, unknown>[], affected: result.length };
  return { rows: [], affected: (result as { readonly affectedRows: number }).affectedRows };
}

/** Lock wait timeout, deadlock, and "record has changed since last read" of MariaDB's snapshot isolation. */
const TRANSIENT: ReadonlySet<unknown> = new Set([1205, 1213, 1020]);

function isTransient(error: unknown): boolean {
  return TRANSIENT.has((Object(error) as { readonly errno?: unknown }).errno);
}
