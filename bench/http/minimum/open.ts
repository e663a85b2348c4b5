import type { Settings } from "../contract.ts";
import type { MinimumStore } from "./minimum.ts";

export async function openMinimum({ store, url }: Settings): Promise<MinimumStore> {
  if (store === "memory") return (await import("./memory.ts")).openMemory();
  if (store.startsWith("sqlite")) return (await import("./sqlite.ts")).openSqlite(url, store === "sqlite-grouped");
  if (store === "postgres") return (await import("./postgres.ts")).openPostgresMinimum(url);
  if (store === "postgres-grouped") return (await import("./postgres-grouped.ts")).openPostgresGrouped(url);
  if (store === "mariadb") return (await import("./mariadb.ts")).openMariadbMinimum(url);
  if (store === "redis") return (await import("./redis.ts")).openRedisMinimum(url);
  throw new Error(`no minimum for ${store}`);
}
