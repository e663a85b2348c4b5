/** What real brokers refuse to some events alone, with words that sound like an outage: the others go on. */
import { connect, type ChannelModel } from "amqplib";
import { Redis } from "ioredis";
import { createRelay, type Outbox, type Publisher, type RelayEvent } from "ichido/outbox";
import { ensureRabbitmqTopology, rabbitmqPublisher } from "ichido/rabbitmq";
import { redisStreamsPublisher } from "ichido/redis-streams";
import { expect, onTestFinished, test } from "vitest";
import { partitionOf } from "../../packages/ichido/src/brokers/partition.ts";
import { openSide } from "../effects/sides.ts";
import { eventually } from "../support/eventually.ts";
import { describeWith, freshDatabase, startRedis, uniqueName } from "../support/services.ts";
import { eventOf } from "./broker-rig.ts";
import type { Database } from "./inbox-databases.ts";
import { openOutbox } from "./outbox-bed.ts";

const withinMs = 60_000;

async function outboxOn(server: string): Promise<Outbox> {
  const database = await freshDatabase(server);
  const side = openSide("postgres", database.url);
  onTestFinished(async () => {
    await side.close();
    await database.drop();
  });
  return openOutbox({ side: () => side } as unknown as Database, { topics: { "*": { to: "wire" } } });
}

async function add(outbox: Outbox, topic: string, keys: readonly string[]): Promise<void> {
  await outbox.transaction(async (_tx, handle) => {
    for (const key of keys) await outbox.add(handle, { topic, key, id: key, payload: { key } });
  });
}

/** Those that are stuck come first, and have failed before the others come. */
async function startRelay(outbox: Outbox, publisher: Publisher) {
  const events: RelayEvent[] = [];
  const relay = createRelay(outbox, {
    routes: { wire: publisher },
    backoffMs: 10,
    backoffMsMax: 100,
    pauseMs: 10,
    pauseMsMax: 100,
    onEvent: (event) => events.push(event),
  });
  onTestFinished(async () => {
    await relay.stop({ drainMs: 0 });
    await publisher.close();
  });
  await relay.start();
  const hasFailed = ({ type }: RelayEvent): boolean => type === "paused" || type === "set-aside";
  await eventually(() => expect(events.some(hasFailed)).toBe(true), withinMs);
  return () => new Set(events.filter((event) => event.type === "sent").map(({ id }) => id));
}

const keysOf = (name: string, count: number): string[] => Array.from({ length: count }, (_, at) => `${name}-${at}`);

describeWith(["postgres", "rabbitmq"], "events that RabbitMQ alone refuses", (server, broker) => {
  test("a full queue holds up what goes there, and nothing else", async () => {
    const outbox = await outboxOn(server);
    const name = uniqueName("full");
    const link = (): Promise<ChannelModel> => connect(broker);
    const queues = [`${name}.small`, `${name}.large`] as const;
    const place = { connect: link, exchange: name, order: "none" } as const;
    await ensureRabbitmqTopology({ ...place, queue: queues[0], topics: ["small.*"], lengthMax: 1 });
    await ensureRabbitmqTopology({ ...place, queue: queues[1], topics: ["large.*"] });
    onTestFinished(async () => {
      const connection = await link();
      const channel = await connection.createChannel();
      for (const queue of queues.flatMap((each) => [each, `${each}.expired`])) await channel.deleteQueue(queue);
      await channel.deleteExchange(name);
      await connection.close();
    });
    const publisher = rabbitmqPublisher({ connect: link, exchange: name });
    const one = eventOf({ topic: "small.x" });
    // A quorum queue may go a little beyond its limit before it refuses.
    await eventually(async () => expect((await publisher.publish(one)).outcome).toBe("unavailable"), withinMs);
    await add(outbox, "small.x", keysOf("small", 20));
    const sent = await startRelay(outbox, publisher);
    const others = keysOf("large", 40);
    await add(outbox, "large.x", others);
    await eventually(() => expect([...sent()]).toEqual(expect.arrayContaining(others)), withinMs);
    expect(await outbox.stats()).toMatchObject({ dead: 0 });
  });
});

describeWith(["postgres", "redis"], "events that Redis alone refuses", (server) => {
  test("a missing right on one stream holds up its partition, and nothing else, until it is given", async () => {
    const outbox = await outboxOn(server);
    const redis = await startRedis();
    onTestFinished(() => redis.stop());
    const owner = new Redis(redis.url);
    onTestFinished(() => owner.disconnect());
    const user = ["ACL", "SETUSER", "relay", "on", ">secret", "+@all", "&*", "~shop:partitions"];
    const rights = (partitions: readonly number[]) =>
      owner.call("ACL", ...user.slice(1), ...partitions.map((partition) => `~shop:${partition}`));
    await rights([0, 1, 2, 3, 4, 5, 6]);
    const { hostname, port } = new URL(redis.url);
    const client = new Redis({ host: hostname, port: Number(port), username: "relay", password: "secret" });
    onTestFinished(() => client.disconnect());
    const forbidden = (key: string): boolean => partitionOf(key, 8) === 7;
    const keys = keysOf("k", 200);
    await add(outbox, "order.paid", keys.filter(forbidden));
    const sent = await startRelay(outbox, redisStreamsPublisher(client, { stream: "shop", partitions: 8 }));
    const others = keys.filter((key) => !forbidden(key));
    await add(outbox, "order.paid", others);
    await eventually(() => expect([...sent()].toSorted()).toEqual(others.toSorted()), withinMs);
    const held = { pending: keys.length - others.length, dead: 0 };
    await eventually(async () => expect(await outbox.stats()).toMatchObject(held), withinMs);
    await rights([7]);
    await eventually(() => expect([...sent()].toSorted()).toEqual(keys.toSorted()), withinMs);
  });
});
