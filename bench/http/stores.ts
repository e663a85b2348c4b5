/** Stores of ichido by name, set up as a user would. */
import type { Store } from "ichido";
import { memoryStore } from "ichido/memory";
import { mysqlStore } from "ichido/mysql";
import { postgresStore } from "ichido/postgres";
import { redisStore } from "ichido/redis";
import { openSqliteStore } from "ichido/sqlite";
import type { Settings } from "./contract.ts";

export const poolSize = 10;

/** Drivers are loaded on demand: a server's memory is that of what it uses. */
export async function openPostgres(url: string): Promise<import("pg").Pool> {
  const { default: pg } = await import("pg");
  return new pg.Pool({ connectionString: url, max: poolSize });
}

export async function openMariadb(url: string): Promise<import("mysql2/promise").Pool> {
  const { createPool } = await import("mysql2/promise");
  return createPool({ uri: url, connectionLimit: poolSize });
}

export async function openRedis(url: string): Promise<import("ioredis").Redis> {
  const { Redis } = await import("ioredis");
  return new Redis(url);
}

export async function openStore({ store, url }: Settings): Promise<Store> {
  // Bounds that a run does not reach: at its bound the store would refuse.
  if (store === "memory") return memoryStore({ recordsMax: 5_000_000, bytesMax: 2 ** 33, scopeShareMax: 1 });
  if (store === "sqlite") return openSqliteStore(url, { migrate: true });
  if (store === "redis") return redisStore(await openRedis(url));
  const made = store === "postgres" ? postgresStore(await openPostgres(url)) : mysqlStore(await openMariadb(url));
  await made.migrate();
  return made;
}
