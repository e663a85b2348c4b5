/**
 * From a broker into a database, one transaction an event: a consumer that keeps the order of keys, beside a loop by hand on
 * the broker's own client with the same handler on the same database. The loop has a table of ids and acknowledges after the
 * commit, eight at once, as the consumer has eight partitions; it keeps no order and knows no attempts, letters or lost servers.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect as connectNats, headers } from "@nats-io/transport-node";
import { connect as connectAmqp } from "amqplib";
import { createConsumer, createInbox, type EventMessage } from "ichido/inbox";
import { ensureNatsConsumers, ensureNatsStream, natsPublisher, natsSubscription } from "ichido/nats";
import type { Publisher } from "ichido/outbox";
import { ensureRabbitmqTopology, rabbitmqPublisher, rabbitmqSubscription } from "ichido/rabbitmq";
import { redisStreamsPublisher, redisStreamsSubscription } from "ichido/redis-streams";
import { pgTransactions } from "ichido/transactions";
import { Redis } from "ioredis";
import { median } from "../measure.ts";
import { openBed, perSecond, type EventsBed } from "./bed.ts";

const keys = 500;
const atOnce = 8;
const fetched = 256;
const payload = new TextEncoder().encode(JSON.stringify({ note: "x".repeat(200) }));

const eventOf = (index: number): EventMessage => ({
  id: randomUUID(),
  topic: "order.paid",
  key: `k${index % keys}`,
  source: "/bench",
  time: new Date().toISOString(),
  contentType: "application/json",
  payload,
  headers: {},
});

type Work = (id: string) => Promise<void>;

interface Broker {
  readonly name: string;
  readonly publishers: { readonly hand: Publisher; readonly ours: Publisher };
  /** Works off so many, each acknowledged after its work. */
  byHand(count: number, work: Work): Promise<void>;
  subscribe(): Parameters<typeof createConsumer>[0]["subscription"];
  close(): Promise<void>;
}

/** Runs work as it comes, so many at once, and resolves when enough is done. */
function crowd(count: number): { readonly add: (task: () => Promise<unknown>) => void; readonly done: Promise<void> } {
  const waiting: (() => Promise<unknown>)[] = [];
  const { promise: done, resolve, reject } = Promise.withResolvers<void>();
  let [running, finished] = [0, 0];
  async function work(): Promise<void> {
    running += 1;
    for (let task = waiting.shift(); task !== undefined; task = waiting.shift()) {
      await task();
      finished += 1;
      if (finished === count) resolve();
    }
    running -= 1;
  }
  return {
    add(task) {
      waiting.push(task);
      if (running < atOnce) work().catch(reject);
    },
    done,
  };
}

export async function openNats(url: string, name: string): Promise<Broker> {
  const connection = await connectNats({ servers: url });
  const manager = await jetstreamManager(connection);
  const place = (part: string) => ({ connection, stream: `${name}${part}`, subjectPrefix: `${name}${part}` });
  for (const part of ["hand", "ours"]) await ensureNatsStream(place(part));
  await manager.consumers.add(`${name}hand`, { durable_name: "hand", ack_policy: "explicit" });
  const options = { ...place("ours"), durable: "ours", order: "key" as const };
  await ensureNatsConsumers(options);
  return {
    name: "NATS",
    publishers: {
      hand: natsPublisher({ ...place("hand"), headers }),
      ours: natsPublisher({ ...place("ours"), headers }),
    },
    async byHand(count, work) {
      const consumer = await jetstream(connection).consumers.get(`${name}hand`, "hand");
      const messages = await consumer.consume({ max_messages: fetched });
      const { add, done } = crowd(count);
      void done.then(() => messages.stop());
      for await (const message of messages)
        add(async () => {
          await work(message.headers?.get("ce-id") ?? "");
          message.ack();
        });
      await connection.flush();
    },
    subscribe: () => natsSubscription(options),
    async close() {
      for (const part of ["hand", "ours"]) await manager.streams.delete(`${name}${part}`);
      await connection.close();
    },
  };
}

export async function openRabbitmq(url: string, name: string): Promise<Broker> {
  const connect = () => connectAmqp(url);
  const [hand, ours] = [`${name}hand`, `${name}ours`];
  await ensureRabbitmqTopology({ connect, exchange: hand, queue: hand, order: "none" });
  await ensureRabbitmqTopology({ connect, exchange: ours, queue: ours, order: "key" });
  const connection = await connect();
  const publishers = {
    hand: rabbitmqPublisher({ connect, exchange: hand, callTimeoutMs: 30_000 }),
    ours: rabbitmqPublisher({ connect, exchange: ours, callTimeoutMs: 30_000 }),
  };
  return {
    name: "RabbitMQ",
    publishers,
    async byHand(count, work) {
      const channel = await connection.createChannel();
      await channel.prefetch(fetched);
      const { add, done } = crowd(count);
      await channel.consume(hand, (message) => {
        if (message === null) return;
        add(async () => {
          await work(String(message.properties.headers?.["ce-id"]));
          channel.ack(message);
        });
      });
      await done;
      await channel.close();
    },
    subscribe: () => rabbitmqSubscription({ connect, queue: ours, order: "key" }),
    async close() {
      await publishers.hand.close();
      await publishers.ours.close();
      const cleaner = await connection.createChannel();
      const parts = Array.from({ length: 8 }, (_, index) => `${ours}.${index}`);
      for (const queue of [hand, ...parts, `${ours}.u`, `${hand}.expired`, `${ours}.expired`])
        await cleaner.deleteQueue(queue);
      for (const exchange of [hand, ours]) await cleaner.deleteExchange(exchange);
      await connection.close();
    },
  };
}

export async function openRedis(url: string, name: string): Promise<Broker> {
  const client = new Redis(url);
  const [hand, ours] = [`${name}hand`, `${name}ours`];
  const publishers = {
    hand: redisStreamsPublisher(client, { stream: hand, partitions: 1 }),
    ours: redisStreamsPublisher(client, { stream: ours }),
  };
  const stream = `${hand}:0`;
  await client.xgroup("CREATE", stream, "hand", "0", "MKSTREAM");
  return {
    name: "Redis Streams",
    publishers,
    async byHand(count, work) {
      const { add, done } = crowd(count);
      for (let read = 0; read < count;) {
        const found = (await client.xreadgroup("GROUP", "hand", "one", "COUNT", fetched, "STREAMS", stream, ">")) as
          | [string, [string, string[]][]][]
          | null;
        for (const [id, fields] of found?.[0]?.[1] ?? []) {
          read += 1;
          add(async () => {
            await work(String((JSON.parse(fields[1] ?? "{}") as Record<string, string>)["ce-id"]));
            await client.xack(stream, "hand", id);
          });
        }
      }
      await done;
    },
    subscribe: () => redisStreamsSubscription(client, { stream: ours, group: "ours", order: "key" }),
    async close() {
      const names = await client.keys(`${name}*`);
      if (names.length > 0) await client.del(...names);
      client.disconnect();
    },
  };
}

export async function publishAll(publisher: Publisher, count: number): Promise<void> {
  let next = 0;
  const publish = async (): Promise<void> => {
    while (next < count) {
      const { outcome } = await publisher.publish(eventOf(next++));
      if (outcome !== "sent") throw new Error(outcome);
    }
  };
  await Promise.all(Array.from({ length: fetched }, publish));
}

async function timed(count: number, work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return (count * 1_000) / (performance.now() - startMs);
}

/** Both work off so many events that the broker has. */
export function waysIn(
  broker: Broker,
  { pool }: Pick<EventsBed, "pool">,
): Readonly<Record<"hand" | "ours", (count: number) => Promise<void>>> {
  const inbox = createInbox({ transactions: pgTransactions(pool), retentionMs: 14 * 86_400_000 });
  const effect = (client: { query(sql: string): Promise<unknown> }): Promise<unknown> =>
    client.query("insert into effects (note) values ('paid')");

  async function byHandOnce(id: string): Promise<void> {
    const client = await pool.connect();
    try {
      await client.query("begin");
      const taken = await client.query("insert into hand_inbox values ('bench', $1) on conflict do nothing", [id]);
      if (taken.rowCount === 1) await effect(client);
      await client.query("commit");
    } finally {
      client.release();
    }
  }

  async function ours(count: number): Promise<void> {
    const { promise: done, resolve, reject } = Promise.withResolvers<void>();
    let seen = 0;
    const consumer = createConsumer({
      subscription: broker.subscribe(),
      inbox,
      handlers: [{ name: "bench", topics: ["*"], once: (tx) => effect(tx) }],
      onEvent(event) {
        if (event.type === "processed" && ++seen === count) resolve();
        if (event.type === "failed" || event.type === "dead") reject(event.error as Error);
      },
    });
    await consumer.start();
    await done;
    await consumer.stop();
  }

  return { hand: (count) => broker.byHand(count, byHandOnce), ours };
}

async function compare(broker: Broker, bed: EventsBed, count: number, rounds: number): Promise<void> {
  const ways = waysIn(broker, bed);
  const ratios: number[] = [];
  const rates = { hand: [] as number[], ours: [] as number[] };
  for (let round = -1; round < rounds; round += 1) {
    // The first round warms up.
    const events = round < 0 ? Math.min(count, 500) : count;
    const found = { hand: 0, ours: 0 };
    for (const way of round % 2 === 0 ? (["hand", "ours"] as const) : (["ours", "hand"] as const)) {
      await publishAll(broker.publishers[way], events);
      found[way] = await timed(events, () => ways[way](events));
    }
    if (round < 0) continue;
    rates.hand.push(found.hand);
    rates.ours.push(found.ours);
    ratios.push(found.ours / found.hand);
  }
  console.log(
    `${broker.name} into PostgreSQL, ${count} events of ${keys} keys: by hand ${perSecond(median(rates.hand))}; consumer, in order ` +
      `${perSecond(median(rates.ours))} (${median(ratios).toFixed(2)}; bar 0.60), median of ${rounds} pairs`,
  );
}

export async function benchConsume(
  urls: { readonly postgres: string; readonly nats: string; readonly amqp: string; readonly redis: string },
  count: number,
  rounds: number,
): Promise<void> {
  for (const [open, url] of [
    [openNats, urls.nats],
    [openRabbitmq, urls.amqp],
    [openRedis, urls.redis],
  ] as const) {
    const bed = await openBed(urls.postgres);
    const broker = await open(url, `bench${randomBytes(4).toString("hex")}`);
    try {
      await createInbox({ transactions: pgTransactions(bed.pool), retentionMs: 86_400_000 }).migrate();
      await bed.pool.query("create table effects (id bigint generated always as identity primary key, note text)");
      await bed.pool.query("create table hand_inbox (handler text, id text, primary key (handler, id))");
      await compare(broker, bed, count, rounds);
    } finally {
      await broker.close();
      await bed.close();
    }
  }
}
