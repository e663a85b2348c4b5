/** NATS JetStream: stream `shop`, subjects `shop.<partition>.<topic>`. */
import { connect, headers } from "@nats-io/transport-node";
import { ensureNatsConsumers, ensureNatsStream, natsPublisher, natsSubscription } from "ichido/nats";
import { connectMs, partitions, redeliveryMsMax, ackWaitMs } from "./broker-settings.ts";
import type { Broker, BrokerNames } from "./broker.ts";

export async function openNats(url: string, { stream, group }: BrokerNames): Promise<Broker> {
  const connection = await connect({ servers: url, maxReconnectAttempts: -1, timeout: connectMs, name: "shop" });
  const layout = { connection, stream, subjectPrefix: stream, partitions };
  try {
    await ensureNatsStream({ ...layout, maxAgeMs: redeliveryMsMax });
    const wish = { ...layout, durable: group, ackWaitMs, redeliveryMsMax };
    await ensureNatsConsumers(wish);
    const publisher = natsPublisher({ ...layout, headers });
    return {
      publisher,
      subscription: natsSubscription(wish),
      async close() {
        await publisher.close();
        await connection.close();
      },
    };
  } catch (error) {
    await connection.close();
    throw error;
  }
}
