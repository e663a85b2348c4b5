import type { Cluster, Redis } from "ioredis";
import { redisStore } from "../../packages/ichido/src/stores/redis/index.ts";
import { callTimeoutMs } from "../settings.ts";
import { addressesOf, masterName } from "./redis-addresses.ts";
import type { Side } from "./side.ts";

const settings = {
  connectTimeout: callTimeoutMs,
  retryStrategy: () => 50,
  maxRetriesPerRequest: 1,
  socketTimeout: 2 * callTimeoutMs,
};

function sideOf(client: Redis | Cluster): Side {
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

export async function openRedis(url: string): Promise<Side> {
  const { Redis } = await import("ioredis");
  return sideOf(new Redis(url, settings));
}

export async function openRedisSentinel(url: string): Promise<Side> {
  const { Redis } = await import("ioredis");
  const watchers = { sentinels: [...addressesOf(url)], name: masterName, sentinelRetryStrategy: () => 100 };
  return sideOf(new Redis({ ...settings, ...watchers }));
}

export async function openRedisCluster(url: string): Promise<Side> {
  const { Cluster } = await import("ioredis");
  const { retryStrategy: clusterRetryStrategy, ...redisOptions } = settings;
  return sideOf(
    new Cluster([...addressesOf(url)], { redisOptions, clusterRetryStrategy, slotsRefreshTimeout: callTimeoutMs }),
  );
}
