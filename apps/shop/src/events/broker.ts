/** `BROKER_URL` to a way for events from the relay to the consumers, or one line that says why there is none. */
import { inProcess } from "ichido/in-process";
import type { Publisher, Subscription } from "ichido/outbox";
import { reasonOf, StartError } from "../errors.ts";

export interface Broker {
  readonly publisher: Publisher;
  readonly subscription: Subscription;
  close(): Promise<void>;
}

/**
 * Streams, exchanges and subjects have fixed names, which the README lists. What is read from them is read under the name of
 * the database: shops of one database share the work, shops of different databases do not take each other's events.
 */
export interface BrokerNames {
  readonly stream: string;
  readonly group: string;
}

/** By scheme. A client is loaded only where it is used. */
const brokers: Readonly<Record<string, (url: string, names: BrokerNames) => Promise<Broker>>> = {
  "nats:": async (url, names) => (await import("./nats-broker.ts")).openNats(url, names),
  "amqp:": async (url, names) => (await import("./rabbitmq-broker.ts")).openRabbitmq(url, names),
  "amqps:": async (url, names) => (await import("./rabbitmq-broker.ts")).openRabbitmq(url, names),
  "redis:": async (url, names) => (await import("./redis-broker.ts")).openRedis(url, names),
  "rediss:": async (url, names) => (await import("./redis-broker.ts")).openRedis(url, names),
};

export const brokerSchemes: readonly string[] = Object.keys(brokers);

export async function openBroker(url: string | undefined, databaseName: string): Promise<Broker> {
  if (url === undefined) {
    const { publisher, subscription } = inProcess();
    return { publisher, subscription, close: () => publisher.close() };
  }
  const { protocol, host } = new URL(url);
  const open = brokers[protocol];
  if (open === undefined) throw new StartError(`BROKER_URL: no broker speaks ${protocol}`);
  try {
    return await open(url, { stream: "shop", group: `shop-${databaseName.slice(0, 8)}` });
  } catch (error) {
    throw new StartError(`cannot use the broker at ${protocol}//${host} (BROKER_URL): ${reasonOf(error)}`, {
      cause: error,
    });
  }
}
