/**
 * Events through a broker and out again, 256 under way, beside a hand-written loop on the broker's own client with the same
 * headers on the wire, in turns of one run. The loop reads no header, keeps no order, and knows nothing of lost servers.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect as connectNats, headers } from "@nats-io/transport-node";
import { connect as connectAmqp } from "amqplib";
import { ensureNatsConsumers, ensureNatsStream, natsPublisher, natsSubscription } from "ichido/nats";
import type { EventMessage, Publisher } from "ichido/outbox";
import { ensureRabbitmqTopology, rabbitmqPublisher, rabbitmqSubscription } from "ichido/rabbitmq";
import { perSecond, ratio } from "./bed.ts";

const window = 256;
const keys = 500;
const payload = new TextEncoder().encode(JSON.stringify({ note: "x".repeat(200) }));

type Subscription = ReturnType<typeof natsSubscription>;

/** One way through: publishes one, and counts what arrives. */
interface Pipe {
  readonly name: string;
  readonly publish: (index: number) => Promise<void>;
  /** Resolves when so many have arrived and were acknowledged. */
  consume(count: number): Promise<void>;
}

interface Bed {
  readonly broker: string;
  readonly pipes: readonly Pipe[];
  close(): Promise<void>;
}

const eventOf = (index: number): EventMessage => ({
  id: randomUUID(),
  topic: "order.paid",
  key: `k${index % keys}`,
  source: "/bench",
  time: "2026-01-01T00:00:00.000Z",
  contentType: "application/json",
  payload,
  headers: {},
});

/** What an event's attributes are on the wire, written down without a check. */
const attributesOf = (id: string, index: number): Record<string, string> => ({
  "ce-specversion": "1.0",
  "content-type": "application/json",
  "ce-id": id,
  "ce-type": "order.paid",
  "ce-source": "/bench",
  "ce-time": "2026-01-01T00:00:00.000Z",
  "ce-subject": `k${index % keys}`,
  "ce-partitionkey": `k${index % keys}`,
});

async function inWindow(count: number, publish: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: window }, async () => {
      while (next < count) await publish(next++);
    }),
  );
}

function oursThrough(name: string, publisher: Publisher, subscribe: () => Subscription): Pipe {
  return {
    name,
    publish: async (index) => {
      const result = await publisher.publish(eventOf(index));
      if (result.outcome !== "sent") throw result.error;
    },
    consume: async (count) => {
      const subscription = subscribe();
      const done = Promise.withResolvers<void>();
      let seen = 0;
      await subscription.start({
        take: async (delivery) => {
          await delivery.ack();
          if (++seen === count) done.resolve();
        },
        unreadable: async (delivery) => done.reject(delivery.error),
      });
      await done.promise;
      await subscription.stop();
    },
  };
}

async function natsBed(url: string): Promise<Bed> {
  const connection = await connectNats({ servers: url });
  const manager = await jetstreamManager(connection);
  const client = jetstream(connection);
  const suffix = randomBytes(6).toString("hex");
  const streams = ["hand", "free", "keyed"].map((name) => `bench_${name}_${suffix}`);
  const [hand = "", free = "", keyed = ""] = streams;
  for (const stream of streams) await ensureNatsStream({ connection, stream, subjectPrefix: stream });
  await manager.consumers.add(hand, { durable_name: "bench", ack_policy: "explicit" });
  const ours = async (stream: string, order: "key" | "none"): Promise<Pipe> => {
    const place = { connection, stream, subjectPrefix: stream };
    const options = { ...place, durable: "bench", order, concurrency: window };
    await ensureNatsConsumers(options);
    return oursThrough(`ichido, order ${order}`, natsPublisher({ ...place, headers }), () => natsSubscription(options));
  };
  return {
    broker: "NATS JetStream",
    pipes: [
      {
        name: "by hand",
        publish: async (index) => {
          const id = randomUUID();
          const fields = headers();
          for (const [name, value] of Object.entries(attributesOf(id, index))) fields.set(name, value);
          await client.publish(`${hand}.u.order.paid`, payload, { msgID: id, headers: fields });
        },
        consume: async (count) => {
          const consumer = await client.consumers.get(hand, "bench");
          const messages = await consumer.consume({ max_messages: window });
          let seen = 0;
          for await (const message of messages) {
            message.ack();
            if (++seen === count) break;
          }
          await connection.flush();
        },
      },
      await ours(free, "none"),
      await ours(keyed, "key"),
    ],
    close: async () => {
      for (const stream of streams) await manager.streams.delete(stream);
      await connection.close();
    },
  };
}

async function rabbitmqBed(url: string): Promise<Bed> {
  const connect = () => connectAmqp(url);
  const suffix = randomBytes(6).toString("hex");
  const names = ["hand", "free", "keyed"].map((name) => `bench_${name}_${suffix}`);
  const [hand = "", free = "", keyed = ""] = names;
  await ensureRabbitmqTopology({ connect, exchange: hand, queue: hand, order: "none" });
  const connection = await connect();
  const channel = await connection.createConfirmChannel();
  const closers: (() => Promise<void>)[] = [];
  const ours = async (exchange: string, order: "key" | "none"): Promise<Pipe> => {
    await ensureRabbitmqTopology({ connect, exchange, queue: exchange, order });
    const publisher = rabbitmqPublisher({ connect, exchange, callTimeoutMs: 30_000 });
    closers.push(() => publisher.close());
    return oursThrough(`ichido, order ${order}`, publisher, () =>
      rabbitmqSubscription({ connect, queue: exchange, order, concurrency: window }),
    );
  };
  return {
    broker: "RabbitMQ",
    pipes: [
      {
        name: "by hand",
        publish: (index) =>
          new Promise((resolve, reject) => {
            const messageId = randomUUID();
            channel.publish(
              hand,
              "u.order.paid",
              Buffer.from(payload),
              { persistent: true, mandatory: true, messageId, headers: attributesOf(messageId, index) },
              (error: unknown) => (error === null ? resolve() : reject(error as Error)),
            );
          }),
        consume: async (count) => {
          const consumer = await connection.createChannel();
          await consumer.prefetch(window);
          await new Promise<void>((resolve) => {
            let seen = 0;
            void consumer.consume(hand, (message) => {
              if (message === null) return;
              consumer.ack(message);
              if (++seen === count) resolve();
            });
          });
          await consumer.close();
        },
      },
      await ours(free, "none"),
      await ours(keyed, "key"),
    ],
    close: async () => {
      for (const close of closers) await close();
      const cleaner = await connection.createChannel();
      const parts = Array.from({ length: 8 }, (_, index) => `${keyed}.${index}`);
      const expired = names.map((name) => `${name}.expired`);
      for (const queue of [hand, free, ...parts, `${keyed}.u`, ...expired]) await cleaner.deleteQueue(queue);
      for (const exchange of names) await cleaner.deleteExchange(exchange);
      await connection.close();
    },
  };
}

async function timed(count: number, work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return (count * 1_000) / (performance.now() - start);
}

const median = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[values.length >> 1] ?? 0;

async function compare(bed: Bed, count: number, rounds: number): Promise<void> {
  const rates = bed.pipes.map(() => ({ publish: [] as number[], consume: [] as number[], both: [] as number[] }));
  const warmUp = Math.min(count, 500);
  for (const pipe of bed.pipes) await Promise.all([inWindow(warmUp, pipe.publish), pipe.consume(warmUp)]);
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, pipe] of bed.pipes.entries()) {
      const rate = rates[index];
      rate?.publish.push(await timed(count, () => inWindow(count, pipe.publish)));
      rate?.consume.push(await timed(count, () => pipe.consume(count)));
      rate?.both.push(await timed(count, () => Promise.all([inWindow(count, pipe.publish), pipe.consume(count)])));
    }
  }
  const [reference] = rates;
  console.log(`\n${bed.broker}: ${count} events, ${window} under way, median of ${rounds}`);
  for (const [index, pipe] of bed.pipes.entries()) {
    const shown = (["publish", "consume", "both"] as const).map((part) => {
      const rate = median(rates[index]?.[part] ?? []);
      return `${part} ${perSecond(rate)} (${ratio(rate, median(reference?.[part] ?? []))})`;
    });
    console.log(`  ${pipe.name.padEnd(20)} ${shown.join("   ")}`);
  }
}

export async function benchBrokers(natsUrl: string, amqpUrl: string, count: number, rounds: number): Promise<void> {
  for (const open of [() => natsBed(natsUrl), () => rabbitmqBed(amqpUrl)]) {
    const bed = await open();
    try {
      await compare(bed, count, rounds);
    } finally {
      await bed.close();
    }
  }
}
