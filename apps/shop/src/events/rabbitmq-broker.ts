/** RabbitMQ: topic exchange `shop`, routing keys `<partition>.<topic>`, quorum queues `shop-<database>.<partition>`. */
import { connect } from "amqplib";
import { ensureRabbitTopology, rabbitPublisher, rabbitSubscription } from "ichido/rabbitmq";
import { connectMs, partitions, redeliveryMsMax } from "./broker-settings.ts";
import type { Broker, BrokerNames } from "./broker.ts";

export async function openRabbitmq(url: string, { stream: exchange, group: queue }: BrokerNames): Promise<Broker> {
  const open = () => connect(url, { timeout: connectMs, clientProperties: { connection_name: "shop" } });
  const layout = { connect: open, partitions };
  await ensureRabbitTopology({ ...layout, exchange, queue, messageTtlMs: redeliveryMsMax });
  const publisher = rabbitPublisher({ ...layout, exchange });
  return {
    publisher,
    subscription: rabbitSubscription({ ...layout, queue, redeliveryMsMax }),
    close: () => publisher.close(),
  };
}
