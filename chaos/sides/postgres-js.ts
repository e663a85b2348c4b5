import { postgresStore } from "../../packages/ichido/src/stores/postgres/index.ts";
import { postgresTransactions } from "../../packages/ichido/src/transactions/postgres.ts";
import { callTimeoutMs } from "../settings.ts";
import { sqlSide, type Side } from "./side.ts";

export async function openPostgresJs(url: string): Promise<Side> {
  const { default: postgres } = await import("postgres");
  const sql = postgres(url, {
    max: 10,
    onnotice: () => undefined,
    connect_timeout: 1,
    backoff: () => 0.1,
    // A connection that is lost while the driver asks for types would end the process.
    fetch_types: false,
  });
  return sqlSide(postgresStore(sql, { callTimeoutMs }), postgresTransactions(sql));
}
