/** Redis Streams: streams that begin with `shop:events`, consumer group `shop-<database>`. */
import { ensureRedisStreamsGroup, redisStreamsPublisher, redisStreamsSubscription } from "ichido/redis-streams";
import { createClient } from "redis";
import { ackWaitMs, connectMs, partitions, redeliveryMsMax } from "./broker-settings.ts";
import type { Broker, BrokerNames } from "./broker.ts";

const RECONNECT_MS_MAX = 1_000;

export async function openRedis(url: string, { stream: name, group }: BrokerNames): Promise<Broker> {
  let connected = false;
  const client = createClient({
    url,
    socket: {
      connectTimeout: connectMs,
      reconnectStrategy: (retries) => (connected ? Math.min(RECONNECT_MS_MAX, 50 * 2 ** retries) : false),
    },
  });
  // Whoever waits for an answer is told by the answer; without a listener the error would end the process.
  client.on("error", () => undefined);
  await client.connect();
  connected = true;
  const layout = { stream: `${name}:events`, partitions };
  await ensureRedisStreamsGroup(client, { ...layout, group });
  const publisher = redisStreamsPublisher(client, layout);
  return {
    publisher,
    subscription: redisStreamsSubscription(client, { ...layout, group, ackWaitMs, redeliveryMsMax }),
    async close() {
      await publisher.close();
      client.destroy();
    },
  };
}
