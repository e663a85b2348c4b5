/** Redis Streams as a broker under test, through either driver. */
import { ensureRedisStreamsGroup, redisStreamsPublisher, redisStreamsSubscription } from "ichido/redis-streams";
import type { RedisStreamsSubscriptionOptions } from "ichido/redis-streams";
import { openClient, removeKeys } from "../stores/redis-clients.ts";
import type { Driver, OpenClient } from "../stores/redis-clients.ts";
import { startRedis, uniqueName } from "../support/services.ts";
import type { BrokerRig, BrokerUnderTest } from "./broker-rig.ts";

/** Survives a SIGKILL with everything that was acknowledged. */
export const durable = { config: { appendonly: "yes", appendfsync: "always" } } as const;

export async function openRedisRig(driver: Driver, url: string): Promise<BrokerRig> {
  const stream = uniqueName("streams");
  const group = "suite";
  const clients: OpenClient[] = [];
  async function open(): Promise<OpenClient> {
    const client = await openClient(driver, url);
    clients.push(client);
    return client;
  }
  const own = await open();
  await ensureRedisStreamsGroup(own.client, { stream, group });
  const options = (wish: Partial<RedisStreamsSubscriptionOptions>): RedisStreamsSubscriptionOptions => ({
    stream,
    group,
    callTimeoutMs: 1_000,
    ...wish,
  });
  return {
    publisher: async (wish) => redisStreamsPublisher((await open()).client, { stream, ...wish }),
    subscription: async (wish) => redisStreamsSubscription((await open()).client, options(wish)),
    async mortalSubscription(wish) {
      const client = await open();
      const subscription = redisStreamsSubscription(client.client, options(wish));
      return {
        subscription,
        async die() {
          // The connection first: nothing that stop would hand back can reach the server.
          await client.end();
          await subscription.stop({ drainMs: 0 });
        },
      };
    },
    async publishUnreadable(payload) {
      await own.send("XADD", `${stream}:0`, "*", "headers", "no JSON", "payload", Buffer.from(payload));
    },
    async dispose() {
      await removeKeys(own, stream);
      await Promise.all(clients.map((client) => client.end().catch(() => undefined)));
    },
  };
}

export function redisUnderTest(driver: Driver, url: string): BrokerUnderTest {
  return {
    name: `Redis Streams through ${driver}`,
    dedups: false,
    url,
    open: (address) => openRedisRig(driver, address),
    startServer: () => startRedis(durable),
  };
}
