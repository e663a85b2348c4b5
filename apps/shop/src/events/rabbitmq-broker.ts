/** RabbitMQ: topic exchange `shop`, routing keys `<partition>.<topic>`, quorum queues `shop-<database>.<partition>`. */
import { connect } from "amqplib";
import { ensureRabbitmqTopology, rabbitmqPublisher, rabbitmqSubscription } from "ichido/rabbitmq";
import { connectMs, partitions, redeliveryMsMax } from "./broker-settings.ts";
import type { Broker, BrokerNames } from "./broker.ts";

export async function openRabbitmq(url: string, { stream: exchange, group: queue }: BrokerNames): Promise<Broker> {
  const open = () => connect(url, { timeout: connectMs, clientProperties: { connection_name: "shop" } });
  const layout = { connect: open, partitions };
  await ensureRabbitmqTopology({ ...layout, exchange, queue, messageTtlMs: redeliveryMsMax });
  const publisher = rabbitmqPublisher({ ...layout, exchange });
  return {
    publisher,
    subscription: rabbitmqSubscription({ ...layout, queue, redeliveryMsMax }),
    close: () => publisher.close(),
  };
}
