import type { Bench } from "../effects/databases.ts";
import { redisSide } from "../effects/redis-side.ts";
import { startRedis } from "../support/services.ts";

export type AnyBench = Bench<Bench["dialect"] | "redis">;

/** Redis has no transactions: no orders, and the effects are those of the provider. */
export async function redisBench(): Promise<AnyBench> {
  const server = await startRedis({ config: { appendonly: "yes", appendfsync: "always" } });
  return {
    dialect: "redis",
    url: server.url,
    side: (url = server.url) => redisSide(url),
    effects: async () => [],
    records: async () => -1,
    close: () => server.stop(),
  };
}
