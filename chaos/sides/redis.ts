import { redisStore } from "../../packages/ichido/src/stores/redis/index.ts";
import { callTimeoutMs } from "../settings.ts";
import type { Side } from "./side.ts";

export async function openRedis(url: string): Promise<Side> {
  const { Redis } = await import("ioredis");
  const client = new Redis(url, {
    connectTimeout: callTimeoutMs,
    retryStrategy: () => 50,
    maxRetriesPerRequest: 1,
    socketTimeout: 2 * callTimeoutMs,
  });
  client.on("error", () => {});
  return {
    store: redisStore(client, { callTimeoutMs }),
    runner: undefined,
    notes: {
      read: async (name) => (await client.get(`notes:${name}`)) ?? undefined,
      write: async (name, text) => void (await client.set(`notes:${name}`, text)),
    },
    prepare: async () => {},
    rows: async () => [],
    forget: async () => {},
  };
}
