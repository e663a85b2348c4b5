import type { SqliteTransactionsOptions, TransactionHandle } from "ichido/transactions";
import type { Side } from "./sides.ts";

/** For a process that lives for a second: only the driver that it needs is loaded. */
export async function openLoneSide(
  dialect: TransactionHandle["dialect"] | "redis",
  url: string,
  sqliteOptions: SqliteTransactionsOptions = {},
): Promise<Side> {
  if (dialect === "postgres") return (await import("./postgres-side.ts")).postgresSide(url);
  if (dialect === "redis") return (await import("./redis-side.ts")).redisSide(url);
  if (dialect === "mysql") return (await import("./mysql-side.ts")).mysqlSide(url);
  return (await import("./sqlite-side.ts")).sqliteSide(url, sqliteOptions);
}
