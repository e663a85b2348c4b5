/**
 * Each broker as the storm wants it: short waits, one topic, order by key. Processes of the storm start often, so each
 * loads only what its broker needs.
 */
import type { Publisher, Subscription } from "../../packages/ichido/src/brokers/broker.ts";

export type BrokerKind = "nats" | "rabbitmq" | "redis-streams" | "webhook" | "in-process";

interface Broker {
  /** What has to be there before the first process starts. */
  prepare(): Promise<void>;
  publisher(): Promise<Publisher>;
  subscription(): Promise<Subscription>;
}

const name = "storm";
const ackWaitMs = 1_000;
const callTimeoutMs = 2_000;
const socketTimeout = 2 * callTimeoutMs;
export const webhookSecret = "whsec_c3Rvcm0gc3Rvcm0gc3Rvcm0gc3Rvcm0gc3Rvcm0=";

async function nats(url: string): Promise<Broker> {
  const { connect, headers } = await import("@nats-io/transport-node");
  const { ensureNatsConsumers, ensureNatsStream, natsPublisher, natsSubscription } = await import("ichido/nats");
  const link = () =>
    connect({
      servers: url,
      maxReconnectAttempts: -1,
      reconnectTimeWait: 100,
      waitOnFirstConnect: true,
      // A line that is open on both sides and dead between them is noticed by this alone.
      pingInterval: 1_000,
      maxPingOut: 2,
    });
  const shared = { connection: link, stream: name, subjectPrefix: name };
  const wish = { ...shared, durable: name, ackWaitMs };
  return {
    async prepare() {
      await ensureNatsStream(shared);
      await ensureNatsConsumers(wish);
    },
    publisher: async () => natsPublisher({ ...shared, connection: await link(), headers, callTimeoutMs }),
    subscription: async () => natsSubscription({ ...wish, connection: await link() }),
  };
}

async function rabbitmq(url: string): Promise<Broker> {
  const { connect } = await import("amqplib");
  const { ensureRabbitmqTopology, rabbitmqPublisher, rabbitmqSubscription } = await import("ichido/rabbitmq");
  const link = () => connect(url);
  return {
    prepare: () => ensureRabbitmqTopology({ connect: link, exchange: name, queue: name }),
    publisher: async () => rabbitmqPublisher({ connect: link, exchange: name, callTimeoutMs }),
    subscription: async () => rabbitmqSubscription({ connect: link, queue: name }),
  };
}

async function redisStreams(url: string): Promise<Broker> {
  const { Redis } = await import("ioredis");
  const { ensureRedisStreamsGroup, redisStreamsPublisher, redisStreamsSubscription } =
    await import("ichido/redis-streams");
  const link = () =>
    new Redis(url, { connectTimeout: 1_000, retryStrategy: () => 100, socketTimeout }).on("error", () => undefined);
  return {
    async prepare() {
      const client = link();
      await ensureRedisStreamsGroup(client, { stream: name, group: name });
      client.disconnect();
    },
    publisher: async () => redisStreamsPublisher(link(), { stream: name, callTimeoutMs }),
    subscription: async () => redisStreamsSubscription(link(), { stream: name, group: name, ackWaitMs, callTimeoutMs }),
  };
}

async function webhook(url: string): Promise<Broker> {
  const { webhookPublisher } = await import("ichido/webhook");
  return {
    prepare: async () => {},
    publisher: async () =>
      webhookPublisher({ endpoint: url, secret: webhookSecret, callTimeoutMs, circuit: { probeMs: 100 } }),
    subscription: () => Promise.reject(new Error("webhooks come to a receiver, not to a subscription")),
  };
}

const brokers = { nats, rabbitmq, "redis-streams": redisStreams, webhook } as const;

export function openBroker(kind: Exclude<BrokerKind, "in-process">, url: string): Promise<Broker> {
  return brokers[kind](url);
}
