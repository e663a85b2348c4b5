import { mysqlStore } from "../../packages/ichido/src/stores/mysql/index.ts";
import { mysql2Transactions } from "../../packages/ichido/src/transactions/mysql2.ts";
import { callTimeoutMs } from "../settings.ts";
import { sqlSide, type Side } from "./side.ts";

export async function openMariadb(url: string): Promise<Side> {
  const { createPool } = await import("mysql2/promise");
  const pool = createPool({ uri: url, connectionLimit: 10, connectTimeout: callTimeoutMs });
  return sqlSide(mysqlStore(pool, { callTimeoutMs }), mysql2Transactions(pool));
}
