/** Where idempotency keys live: in the business database, or in Redis, for as long as Redis remembers them. */
import type { Store } from "ichido";
import type { Database } from "./database/database.ts";
import { migrate } from "./database/migrate.ts";

export interface KeyStore {
  readonly store: Store;
  close(): Promise<void>;
}

/** Migrates what it uses: the shop's tables, and where the keys need some, theirs. */
export async function openKeyStore(url: string | undefined, database: Database): Promise<KeyStore> {
  const name = await migrate(database);
  // The driver of Redis is loaded only where it is used: it is most of what a shop would load.
  if (url !== undefined) return (await import("./redis-key-store.ts")).openRedisKeyStore(url, name);
  const { keyStore } = database;
  await keyStore.migrate();
  return { store: keyStore, close: async () => undefined };
}
