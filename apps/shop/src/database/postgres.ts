/** PostgreSQL, through a pool of `pg`. */
import pg from "pg";
import { postgresStore } from "ichido/postgres";
import { pgTransactions } from "ichido/transactions";
import type { Database } from "./database.ts";
import { runAgainOn } from "./run-again.ts";

const CONNECTIONS_MAX = 10;
const CONNECT_MS = 5_000;
const STATEMENT_MS = 30_000;
const INT8 = 20;
/** Any number that no other program of this database is likely to lock. */
const MIGRATION_LOCK = 7_346_287_001;

export async function openPostgres(url: string): Promise<Database> {
  const pool = new pg.Pool({
    connectionString: url,
    max: CONNECTIONS_MAX,
    connectionTimeoutMillis: CONNECT_MS,
    statement_timeout: STATEMENT_MS,
    application_name: "shop",
    types: { getTypeParser },
  });
  // An idle connection that the server ends is replaced by the pool; without a listener the error would end the process.
  pool.on("error", () => undefined);
  try {
    await pool.query("SELECT 1");
  } catch (error) {
    await pool.end();
    throw error;
  }
  const store = postgresStore(pool);
  const transactions = runAgainOn(pgTransactions(pool), isTransient);
  return {
    direct: {
      dialect: "postgres",
      execute: async (text, values) => {
        const { rows, rowCount } = await pool.query(text, [...values]);
        return { rows: rows as Record<string, unknown>[], affected: rowCount ?? 0 };
      },
    },
    transactions,
    keyStore: store,
    alone: (run) =>
      transactions.run(async (_tx, sql) => {
        await sql.execute("SELECT pg_advisory_xact_lock($1)", [MIGRATION_LOCK]);
        await run(sql);
      }),
    async close() {
      await store.close();
      await pool.end();
    },
  };
}

/** Amounts and counts are `bigint`, and none exceeds 2^53 - 1: as numbers, not as the driver's strings. */
function getTypeParser(oid: number, format?: "text" | "binary"): unknown {
  return oid === INT8 ? Number : pg.types.getTypeParser(oid, format as "text");
}

/** serialization_failure, deadlock_detected */
function isTransient(error: unknown): boolean {
  const { code } = Object(error) as { readonly code?: unknown };
  return code === "40001" || code === "40P01";
}
