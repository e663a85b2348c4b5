/** From PostgreSQL to a broker that has confirmed: the relay beside a hand-written loop on the broker's own client. */
import { randomBytes } from "node:crypto";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect as connectNats, headers } from "@nats-io/transport-node";
import { connect as connectAmqp } from "amqplib";
import { Redis } from "ioredis";
import { ensureNatsStream, natsPublisher } from "ichido/nats";
import type { Publisher } from "ichido/outbox";
import { ensureRabbitmqTopology, rabbitmqPublisher } from "ichido/rabbitmq";
import { redisStreamsPublisher } from "ichido/redis-streams";
import { bestOf, openBed, perSecond, ratio } from "./bed.ts";
import { byHandIn, oursIn, type HandRow } from "./relay.ts";

interface Outlet {
  readonly publisher: Publisher;
  readonly send: (row: HandRow) => Promise<unknown>;
  close(): Promise<void>;
}

type Open = (url: string, name: string) => Promise<Outlet>;

/** The attributes that travel with an event, so that both sides put the same on the wire. */
const attributes = (id: string): Record<string, string> => ({
  "ce-specversion": "1.0",
  "content-type": "application/json",
  "ce-id": id,
  "ce-type": "order.paid",
  "ce-source": "/bench",
  "ce-time": "2026-01-01T00:00:00.000Z",
  "ce-subject": "k1",
  "ce-partitionkey": "k1",
});

const nats: Open = async (url, name) => {
  const connection = await connectNats({ servers: url });
  const layout = { connection, stream: name, subjectPrefix: name };
  await ensureNatsStream(layout);
  const publisher = natsPublisher({ ...layout, headers });
  const client = jetstream(connection);
  return {
    publisher,
    send: (row) => {
      const given = headers();
      for (const [header, value] of Object.entries(attributes(row.id))) given.set(header, value);
      return client.publish(`${name}.1.${row.topic}`, row.payload, { msgID: row.id, headers: given });
    },
    async close() {
      await publisher.close();
      await (await jetstreamManager(connection)).streams.delete(name);
      await connection.close();
    },
  };
};

const rabbitmq: Open = async (url, name) => {
  const connect = () => connectAmqp(url);
  const topology = { connect, exchange: name, queue: name };
  await ensureRabbitmqTopology(topology);
  const connection = await connect();
  const channel = await connection.createConfirmChannel();
  const publisher = rabbitmqPublisher({ connect, exchange: name });
  return {
    publisher,
    send: (row) =>
      new Promise((resolve, reject) => {
        const options = { persistent: true, mandatory: true, messageId: row.id, headers: attributes(row.id) };
        channel.publish(name, `1.${row.topic}`, row.payload, options, (error: unknown) =>
          error === null ? resolve(undefined) : reject(error as Error),
        );
      }),
    async close() {
      await publisher.close();
      for (const suffix of ["0", "1", "2", "3", "4", "5", "6", "7", "u", "expired"]) {
        const other = await connection.createChannel();
        other.on("error", () => undefined);
        await other.deleteQueue(`${name}.${suffix}`).catch(() => undefined);
      }
      await channel.deleteExchange(name);
      await connection.close();
    },
  };
};

const redis: Open = async (url, name) => {
  const client = new Redis(url);
  const publisher = redisStreamsPublisher(client, { stream: name });
  return {
    publisher,
    send: (row) => client.xadd(`${name}:1`, "*", "headers", JSON.stringify(attributes(row.id)), "payload", row.payload),
    async close() {
      await publisher.close();
      const keys = await client.keys(`${name}*`);
      if (keys.length > 0) await client.del(...keys);
      client.disconnect();
    },
  };
};

export async function benchPipe(
  urls: { readonly postgres: string; readonly nats: string; readonly amqp: string; readonly redis: string },
  count: number,
  rounds: number,
): Promise<void> {
  const brokers: readonly (readonly [string, Open, string])[] = [
    ["NATS", nats, urls.nats],
    ["RabbitMQ", rabbitmq, urls.amqp],
    ["Redis Streams", redis, urls.redis],
  ];
  for (const [title, open, url] of brokers) {
    const bed = await openBed(urls.postgres);
    const outlet = await open(url, `bench${randomBytes(4).toString("hex")}`);
    try {
      const rates = await bestOf(rounds, {
        hand: await byHandIn(bed, count, "hand", outlet.send),
        free: await oursIn(bed, count, "none", "free_", outlet.publisher),
        keyed: await oursIn(bed, count, "key", "keyed_", outlet.publisher),
      });
      console.log(
        `PostgreSQL to ${title}, ${count} events: by hand ${perSecond(rates.hand)}; relay, unordered ${perSecond(rates.free)} ` +
          `(${ratio(rates.free, rates.hand)}; bar 0.70), ordered ${perSecond(rates.keyed)} (${ratio(rates.keyed, rates.hand)})`,
      );
    } finally {
      await outlet.close();
      await bed.close();
    }
  }
}
