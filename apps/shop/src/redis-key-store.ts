/** Keys in Redis, for as long as Redis remembers them. */
import { redisStore } from "ichido/redis";
import { createClient } from "redis";
import { reasonOf, StartError } from "./errors.ts";
import type { KeyStore } from "./key-store.ts";

const CONNECT_MS = 5_000;
const RECONNECT_MS_MAX = 1_000;
/** A connection that is silent for longer is given up; the pings see to it that a living one is not. */
const SILENCE_MS = 10_000;
const PING_MS = 3_000;

/** Under the name of the database, so that shops of different databases can share a Redis and never see each other's keys. */
export async function openRedisKeyStore(
  url: string,
  databaseName: string,
  { allowEviction = false }: { readonly allowEviction?: boolean } = {},
): Promise<KeyStore> {
  const client = await connect(url);
  const store = redisStore(client, { prefix: `shop:${databaseName}:`, dangerouslyAllowEviction: allowEviction });
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
