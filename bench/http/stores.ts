/** Stores of ichido by name, set up as a user would. */
import type { Store } from "ichido";
import type { Settings } from "./contract.ts";
import { openMariadb, openPostgres, openRedis } from "./drivers.ts";

export async function openStore({ store, url }: Settings): Promise<Store> {
  if (store === "memory") {
    const { memoryStore } = await import("ichido/memory");
    // Bounds that a run does not reach: at its bound the store would refuse.
    return memoryStore({ recordsMax: 10_000_000, bytesMax: 2 ** 34, scopeShareMax: 1 });
  }
  if (store === "sqlite") return (await import("ichido/sqlite")).openSqliteStore(url, { migrate: true });
  if (store === "redis") return (await import("ichido/redis")).redisStore(await openRedis(url));
  const made =
    store === "postgres"
      ? (await import("ichido/postgres")).postgresStore(await openPostgres(url))
      : (await import("ichido/mysql")).mysqlStore(await openMariadb(url));
  await made.migrate();
  return made;
}
