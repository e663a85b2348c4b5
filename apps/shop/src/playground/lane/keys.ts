/** Where a lane keeps its keys: beside its rows, or elsewhere, for the page that shows where the limits are. */
import { join } from "node:path";
import type { Store } from "ichido";
import type { Database } from "../../database/database.ts";
import { openDatabase } from "../../database/open.ts";

export interface KeysSettings {
  readonly folder: string;
  /** In a file of their own. */
  readonly keysApart: boolean;
  readonly redisUrl: string | undefined;
  /** The Redis may drop keys. */
  readonly allowEviction: boolean;
}

/** Keys in Redis begin with it. */
export const KEYS_OF_LANE = "shop:playground:";

export async function openKeys(
  { folder, keysApart, redisUrl, allowEviction }: KeysSettings,
  database: Database,
): Promise<Store> {
  if (redisUrl !== undefined) {
    const { openRedisKeyStore } = await import("../../redis-key-store.ts");
    return (await openRedisKeyStore(redisUrl, "playground", { allowEviction })).store;
  }
  const { keyStore } = keysApart ? await openDatabase(undefined, join(folder, "keys.sqlite")) : database;
  await keyStore.migrate();
  return keyStore;
}
