/** RabbitMQ for the broker suite: an exchange and queues of its own per rig, a connection per publisher and subscription. */
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "amqplib";
import type { ChannelModel } from "amqplib";
import { ensureRabbitmqTopology, rabbitmqPublisher, rabbitmqSubscription } from "ichido/rabbitmq";
import type { Publisher, Subscription } from "../../packages/ichido/src/brokers/broker.ts";
import type { BrokerRig, SubscriptionWish } from "./broker-rig.ts";
import { startRabbitmq, uniqueName } from "../support/services.ts";

export { startRabbitmq };

const partitions = 8;

/** Two groups, one for each order; a test looks at one of them. */
export async function openRabbitmqRig(url: string): Promise<BrokerRig & { readonly exchange: string }> {
  const exchange = uniqueName("rabbit");
  const link = (): Promise<ChannelModel> => connect(url);
  const publishers: Publisher[] = [];
  const subscriptions: Subscription[] = [];
  await ensureRabbitmqTopology({ connect: link, exchange, queue: `${exchange}.key`, order: "key" });
  await ensureRabbitmqTopology({ connect: link, exchange, queue: `${exchange}.none`, order: "none" });
  const keep = (publisher: Publisher): Publisher => {
    publishers.push(publisher);
    return publisher;
  };
  const subscriptionBy = (through: () => Promise<ChannelModel>, wish: SubscriptionWish): Subscription => {
    const { order, concurrency } = wish;
    const subscription = rabbitmqSubscription({
      connect: through,
      queue: `${exchange}.${order}`,
      order,
      ...(concurrency === undefined ? {} : { concurrency }),
    });
    subscriptions.push(subscription);
    return subscription;
  };
  return {
    exchange,
    publisher: async (options) => keep(rabbitmqPublisher({ connect: link, exchange, ...options })),
    unroutablePublisher: async () => {
      await ensureRabbitmqTopology({ connect: link, exchange: `${exchange}.nobody` });
      return keep(rabbitmqPublisher({ connect: link, exchange: `${exchange}.nobody` }));
    },
    subscription: async (wish) => subscriptionBy(link, wish),
    mortalSubscription: async (wish) => {
      const opened: ChannelModel[] = [];
      let dead = false;
      const subscription = subscriptionBy(async () => {
        if (dead) throw new Error("this process is dead");
        const connection = await link();
        opened.push(connection);
        return connection;
      }, wish);
      return {
        subscription,
        die: async () => {
          dead = true;
          for (const connection of opened) socketOf(connection).destroy();
        },
      };
    },
    publishUnreadable: async (payload) => {
      const connection = await link();
      const channel = await connection.createConfirmChannel();
      channel.publish(exchange, "3.noise", Buffer.from(payload));
      await channel.waitForConfirms();
      await connection.close();
    },
    // The register of quorum queues is written behind: a queue declared in the last moment before a kill never gets a leader.
    settle: () => sleep(2_000),
    dispose: async () => {
      await Promise.all(subscriptions.map((subscription) => subscription.stop({ drainMs: 0 })));
      await Promise.all(publishers.map((publisher) => publisher.close()));
      const connection = await link();
      const channel = await connection.createChannel();
      const names = [...Array.from({ length: partitions }, (_, index) => `key.${index}`), "key.u", "none"];
      for (const name of [...names, "key.expired", "none.expired"]) await channel.deleteQueue(`${exchange}.${name}`);
      for (const name of [exchange, `${exchange}.nobody`]) await channel.deleteExchange(name);
      await connection.close();
    },
  };
}

/** What the death of a process leaves behind: a socket without a word. */
function socketOf(connection: ChannelModel): { destroy(): void } {
  return (connection.connection as unknown as { stream: { destroy(): void } }).stream;
}
