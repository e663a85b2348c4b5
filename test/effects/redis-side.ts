import { redisStore } from "ichido/redis";
import { Redis } from "ioredis";
import type { Side } from "./sides.ts";

/** Without transactions: whoever asks for one is refused. */
export function redisSide(url: string): Side {
  const client = new Redis(url);
  client.on("error", () => {});
  const store = redisStore(client);
  const close = async (): Promise<void> => {
    await store.close();
    client.disconnect();
  };
  // eslint-disable-next-line typescript/no-unsafe-type-assertion -- who uses this side runs in lease mode alone
  return { store, runner: undefined as unknown as Side["runner"], connections: () => 1, close };
}
