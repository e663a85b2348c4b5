import { sqliteStore } from "../../packages/ichido/src/stores/sqlite/index.ts";
import { nodeSqliteTransactions } from "../../packages/ichido/src/transactions/sqlite.ts";
import { callTimeoutMs } from "../settings.ts";
import { sqlSide, type Side } from "./side.ts";

const pagesMax = 1_073_741_823;

export async function openSqlite(file: string): Promise<Side> {
  const { DatabaseSync } = await import("node:sqlite");
  const database = new DatabaseSync(file, { timeout: 25 });
  database.exec("PRAGMA journal_mode = WAL");
  let leapMs = 0;
  const store = sqliteStore(database, { lockTimeoutMs: callTimeoutMs, nowMs: () => Date.now() + leapMs });
  const pages = (): number => Number(Object.values(database.prepare("PRAGMA page_count").get() ?? {})[0]);
  const orders: Readonly<Record<string, (value: number) => void>> = {
    /** No page more than there are: SQLite says that the disk is full. */
    full: (on) => database.exec(`PRAGMA max_page_count = ${on === 1 ? pages() : pagesMax}`),
    readonly: (on) => database.exec(`PRAGMA query_only = ${on}`),
    leap: (ms) => (leapMs = ms),
  };
  return sqlSide(store, nodeSqliteTransactions(database), ([name = "", value]) => orders[name]?.(Number(value)));
}
