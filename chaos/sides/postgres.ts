import { postgresStore } from "../../packages/ichido/src/stores/postgres/index.ts";
import { pgTransactions } from "../../packages/ichido/src/transactions/pg.ts";
import { callTimeoutMs } from "../settings.ts";
import { sqlSide, type Side } from "./side.ts";

export async function openPostgres(url: string): Promise<Side> {
  const { Pool } = await import("pg");
  const pool = new Pool({ connectionString: url, max: 10, connectionTimeoutMillis: callTimeoutMs });
  pool.on("error", () => {});
  return sqlSide(postgresStore(pool, { callTimeoutMs }), pgTransactions(pool));
}
