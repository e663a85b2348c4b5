import { postgresStore } from "ichido/postgres";
import { pgTransactions } from "ichido/transactions";
import { Pool } from "pg";
import type { Side } from "./sides.ts";

export function postgresSide(url: string): Side {
  const pool = new Pool({ connectionString: url, max: 10 });
  pool.on("error", () => {});
  const store = postgresStore(pool);
  const close = async (): Promise<void> => {
    await store.close();
    await pool.end();
  };
  return { store, runner: pgTransactions(pool), connections: () => pool.totalCount, close };
}
