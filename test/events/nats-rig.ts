/** NATS for the broker suite: a stream of its own per rig, a connection per publisher and subscription. */
import { connect, headers } from "@nats-io/transport-node";
import type { NatsConnection } from "@nats-io/transport-node";
import { jetstreamManager } from "@nats-io/jetstream";
import { ensureNatsConsumers, ensureNatsStream, natsPublisher, natsSubscription } from "ichido/nats";
import type { NatsSubscriptionOptions } from "ichido/nats";
import type { BrokerRig, SubscriptionWish } from "./broker-rig.ts";
import { startNats, uniqueName } from "../support/services.ts";

export { startNats };

const patient = { maxReconnectAttempts: -1, reconnectTimeWait: 100 } as const;

export async function openNatsRig(url: string): Promise<BrokerRig & { readonly stream: string }> {
  const stream = uniqueName("nats");
  const connections: NatsConnection[] = [];
  const link = async (options: object = patient): Promise<NatsConnection> => {
    const connection = await connect({ servers: url, ...options });
    connections.push(connection);
    return connection;
  };
  const own = await link();
  await ensureNatsStream({ connection: own, stream, subjectPrefix: stream });
  const optionsOf = (connection: NatsConnection, wish: SubscriptionWish): NatsSubscriptionOptions => ({
    connection,
    stream,
    durable: `group-${wish.order}`,
    subjectPrefix: stream,
    ...wish,
  });
  const subscriptionOn = async (connection: NatsConnection, wish: SubscriptionWish) => {
    const options = optionsOf(connection, wish);
    await ensureNatsConsumers(options);
    return natsSubscription(options);
  };
  return {
    stream,
    publisher: async (options) =>
      natsPublisher({ connection: await link(), headers, stream, subjectPrefix: stream, ...options }),
    unroutablePublisher: async () =>
      natsPublisher({ connection: await link(), headers, stream, subjectPrefix: `${stream}_nobody` }),
    subscription: async (wish) => subscriptionOn(await link(), wish),
    mortalSubscription: async (wish) => {
      const connection = await link({ reconnect: false });
      return {
        subscription: await subscriptionOn(connection, wish),
        die: async () => {
          socketOf(connection).destroy();
          await connection.closed();
        },
      };
    },
    publishUnreadable: async (payload) => void (await own.request(`${stream}.3.noise`, payload, { timeout: 5_000 })),
    dispose: async () => {
      const manager = await jetstreamManager(own).catch(() => undefined);
      await manager?.streams.delete(stream).catch(() => undefined);
      await Promise.all(connections.map((connection) => connection.close().catch(() => undefined)));
    },
  };
}

/** What the death of a process leaves behind: a socket without a word. */
function socketOf(connection: NatsConnection): { destroy(): void } {
  return (connection as unknown as { protocol: { transport: { socket: { destroy(): void } } } }).protocol.transport
    .socket;
}
