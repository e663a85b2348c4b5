/** Where idempotency keys live: in the business database, or in Redis, for as long as Redis remembers them. */
import type { Store } from "ichido";
import { redisStore } from "ichido/redis";
import { createClient } from "redis";
import type { Database } from "./database/database.ts";
import { migrate } from "./database/migrate.ts";
import { reasonOf, StartError } from "./errors.ts";

export interface KeyStore {
  readonly store: Store;
  close(): Promise<void>;
}

const CONNECT_MS = 5_000;
const RECONNECT_MS_MAX = 1_000;
/** A connection that is silent for longer is given up; the pings see to it that a living one is not. */
const SILENCE_MS = 10_000;
const PING_MS = 3_000;

/** Migrates what it uses: the shop's tables, and where the keys need some, theirs. */
export async function openKeyStore(url: string | undefined, database: Database): Promise<KeyStore> {
  if (url === undefined) {
    await migrate(database);
    const { keyStore } = database;
    await keyStore.migrate();
    return { store: keyStore, close: async () => undefined };
  }
  const name = await migrate(database);
  const client = await connect(url);
  // Under the name of the database, so that shops of different databases can share a Redis and never see each other's keys.
  const store = redisStore(client, { prefix: `shop:${name}:` });
  return {
    store,
    close: async () => {
      await store.close();
      client.destroy();
    },
  };
}

async function connect(url: string): Promise<Awaited<ReturnType<typeof client>>> {
  const { host } = new URL(url);
  let connected = false;
  const made = client(url, (retries) => (connected ? Math.min(RECONNECT_MS_MAX, 50 * 2 ** retries) : false));
  try {
    await made.connect();
  } catch (error) {
    throw new StartError(`cannot use the Redis at ${host} (KEY_STORE_URL): ${reasonOf(error)}`, { cause: error });
  }
  connected = true;
  return made;
}

function client(url: string, reconnectStrategy: (retries: number) => number | false) {
  const made = createClient({
    url,
    pingInterval: PING_MS,
    socket: { connectTimeout: CONNECT_MS, socketTimeout: SILENCE_MS, reconnectStrategy },
  });
  // Whoever waits for an answer is told by the answer; without a listener the error would end the process.
  return made.on("error", () => undefined);
}
