/** What the server does to streams and what is done to the server: refusals, replicas, trimming, lost groups, a cluster. */
import {
  ensureRedisStreamsGroup,
  redisStreamsPublisher,
  redisStreamsSubscription,
  trimRedisStreams,
} from "ichido/redis-streams";
import type { RedisStreamsSubscriptionOptions } from "ichido/redis-streams";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { Delivery } from "../../packages/ichido/src/brokers/broker.ts";
import type { EventMessage } from "../../packages/ichido/src/brokers/message.ts";
import { systemEnvironment, type Environment } from "../../packages/ichido/src/core/contract/environment.ts";
import { drivers, openClient, openCluster, pipeliningClients, removeKeys } from "../stores/redis-clients.ts";
import type { Driver, OpenClient } from "../stores/redis-clients.ts";
import { eventually } from "../support/eventually.ts";
import { describeWith, startRedis, startRedisCluster, uniqueName } from "../support/services.ts";
import type { Instance, RedisCluster } from "../support/services.ts";
import { eventOf } from "./broker-rig.ts";

/** One of the pauses of a consumer that finds nothing: 5 ms, doubled each time. No other timer has this length. */
const endlessPauseMs = 40;

async function opened(driver: Driver, url: string): Promise<OpenClient> {
  const client = await openClient(driver, url);
  onTestFinished(() => client.end());
  return client;
}

async function serverWith(config: Readonly<Record<string, string | number>> = {}): Promise<Instance> {
  const server = await startRedis({ config });
  onTestFinished(() => server.stop());
  return server;
}

async function idsOf(client: OpenClient, key: string, count: number): Promise<string[]> {
  const entries = (await client.send("XRANGE", key, "-", "+", "COUNT", String(count))) as [string, unknown][];
  return entries.map(([id]) => id);
}

async function collecting(
  client: OpenClient,
  options: RedisStreamsSubscriptionOptions,
): Promise<{ readonly messages: EventMessage[]; readonly stop: () => Promise<void> }> {
  const messages: EventMessage[] = [];
  const subscription = redisStreamsSubscription(client.client, options);
  await subscription.start({
    async take(delivery) {
      messages.push(delivery.message);
      await delivery.ack();
    },
    unreadable: (delivery) => delivery.ack(),
  });
  const stop = (): Promise<void> => subscription.stop();
  onTestFinished(stop);
  return { messages, stop };
}

describeWith("redis", "redis streams: publisher", (url) => {
  test.each(drivers)("B2: a key of another type rejects, a payload beyond the bound too (%s)", async (driver) => {
    const client = await opened(driver, url);
    const stream = uniqueName("type");
    onTestFinished(() => removeKeys(client, stream));
    await client.send("SET", `${stream}:0`, "no stream");
    const publisher = redisStreamsPublisher(client.client, { stream, partitions: 1, payloadBytesMax: 10 });
    expect(await publisher.publish(eventOf())).toMatchObject({ outcome: "rejected" });
    await client.send("DEL", `${stream}:0`);
    expect(await publisher.publish(eventOf({ payload: new Uint8Array(11) }))).toMatchObject({ outcome: "rejected" });
    expect(await publisher.publish(eventOf({ payload: new Uint8Array(10) }))).toEqual({ outcome: "sent" });
  });

  test.each(drivers)("B2: a server without memory is unavailable, and takes the event later (%s)", async (driver) => {
    const client = await opened(driver, (await serverWith({ "maxmemory-policy": "noeviction" })).url);
    const publisher = redisStreamsPublisher(client.client);
    expect(await publisher.publish(eventOf())).toEqual({ outcome: "sent" });
    await client.send("CONFIG", "SET", "maxmemory", "1");
    const full = await publisher.publish(eventOf());
    expect(full).toMatchObject({ outcome: "unavailable" });
    expect("error" in full && full.error.message).toContain("OOM");
    await client.send("CONFIG", "SET", "maxmemory", "0");
    expect(await publisher.publish(eventOf())).toEqual({ outcome: "sent" });
  });

  test.each(drivers)("B2: a replica, and a cluster's node without slots, are unavailable (%s)", async (driver) => {
    const master = await serverWith();
    const replica = await serverWith({ replicaof: `127.0.0.1 ${master.port}` });
    const alone = await serverWith({ "cluster-enabled": "yes" });
    for (const [server, code] of [
      [replica, "READONLY"],
      [alone, "CLUSTERDOWN"],
    ] as const) {
      const publisher = redisStreamsPublisher((await opened(driver, server.url)).client);
      const published = await publisher.publish(eventOf());
      expect(published).toMatchObject({ outcome: "unavailable" });
      expect("error" in published && published.error.message).toContain(code);
    }
  });

  test.each(drivers)("B1: with wait, sent means that the replicas have it (%s)", async (driver) => {
    const master = await serverWith();
    const client = await opened(driver, master.url);
    const wait = { replicas: 1, timeoutMs: 300 };
    const publisher = redisStreamsPublisher(client.client, { stream: "waited", partitions: 1, wait });
    expect(await publisher.publish(eventOf())).toMatchObject({ outcome: "unavailable" });
    const replica = await serverWith({ replicaof: `127.0.0.1 ${master.port}` });
    const event = eventOf();
    await eventually(async () => expect(await publisher.publish(event)).toEqual({ outcome: "sent" }), 20_000);
    const there = await opened(driver, replica.url);
    expect(JSON.stringify(await there.send("XRANGE", "waited:0", "-", "+"))).toContain(event.id);
  });

  test("publisher and subscription with another number of partitions are refused", async () => {
    const client = await opened("ioredis", url);
    const stream = uniqueName("layout");
    onTestFinished(() => removeKeys(client, stream));
    await ensureRedisStreamsGroup(client.client, { stream, group: "g", partitions: 4 });
    const subscription = redisStreamsSubscription(client.client, { stream, group: "g", partitions: 8 });
    const taker = { take: async () => undefined, unreadable: async () => undefined };
    await expect(subscription.start(taker)).rejects.toThrow(/has 4 partitions, but this side was given 8/);
    const publisher = redisStreamsPublisher(client.client, { stream, partitions: 8 });
    expect(await publisher.publish(eventOf())).toMatchObject({ outcome: "unavailable" });
    expect(await redisStreamsPublisher(client.client, { stream, partitions: 4 }).publish(eventOf())).toEqual({
      outcome: "sent",
    });
  });

  test("a client that pipelines by itself is refused by name, everywhere", async () => {
    for (const client of pipeliningClients()) {
      const refused = expect.objectContaining({
        code: "option-invalid",
        message: expect.stringMatching(/^option enableAutoPipelining: .*give ichido a client of its own/),
      });
      expect(() => redisStreamsPublisher(client)).toThrow(refused);
      expect(() => redisStreamsSubscription(client, { group: "g" })).toThrow(refused);
      await expect(async () => ensureRedisStreamsGroup(client, { group: "g" })).rejects.toThrow(refused);
      await expect(async () => trimRedisStreams(client)).rejects.toThrow(refused);
      client.disconnect();
    }
  });

  test("options that cannot work are refused", async () => {
    const { client } = await opened("ioredis", url);
    expect(() => redisStreamsPublisher({} as never)).toThrow(/option client: expected a Redis or Cluster/);
    expect(() => redisStreamsPublisher(client, { partitions: 0 })).toThrow(/partitions: expected an integer from 1/);
    expect(() => redisStreamsPublisher(client, { stream: "a b" })).toThrow(/option stream/);
    expect(() => redisStreamsSubscription(client, { group: "" })).toThrow(/option group/);
    expect(() => redisStreamsSubscription(client, { group: "g", order: "any" as never })).toThrow(/option order/);
    expect(() => redisStreamsSubscription(client, { group: "g", ackWaitMs: 1 })).toThrow(/option ackWaitMs/);
  });
});

describeWith("redis", "redis streams: groups", (url) => {
  async function scene(options: Partial<RedisStreamsSubscriptionOptions> = {}) {
    const client = await opened("ioredis", url);
    const stream = uniqueName("groups");
    onTestFinished(() => removeKeys(client, stream));
    const publisher = redisStreamsPublisher(client.client, { stream, partitions: 1 });
    const publish = async (count: number): Promise<string[]> => {
      const events = Array.from({ length: count }, () => eventOf({ key: "a" }));
      for (const event of events) expect(await publisher.publish(event)).toEqual({ outcome: "sent" });
      return events.map(({ id }) => id);
    };
    const length = async (): Promise<number> => Number(await client.send("XLEN", `${stream}:0`));
    const collect = async (group: string, more: Partial<RedisStreamsSubscriptionOptions> = {}) =>
      collecting(await opened("ioredis", url), { stream, partitions: 1, group, ...options, ...more });
    return { client, stream, publish, length, collect };
  }

  test("each group gets every event; a new one from the start, or from now on when asked", async () => {
    const { client, stream, publish, collect } = await scene();
    const before = await publish(3);
    await ensureRedisStreamsGroup(client.client, { stream, partitions: 1, group: "late", from: "end" });
    const after = await publish(2);
    const [first, second, late] = [await collect("first"), await collect("second"), await collect("late")];
    for (const { messages } of [first, second])
      await eventually(() => expect(messages.map(({ id }) => id)).toEqual([...before, ...after]));
    await eventually(() => expect(late.messages.map(({ id }) => id)).toEqual(after));
  });

  test("trimming removes what all groups acknowledged and nothing else", async () => {
    const { client, stream, publish, length, collect } = await scene();
    const trim = (): Promise<number> => trimRedisStreams(client.client, { stream, partitions: 1 });
    await publish(1_000);
    // Nobody has said yet who reads it.
    expect(await trim()).toBe(0);
    await ensureRedisStreamsGroup(client.client, { stream, partitions: 1, group: "slow" });
    const quick = await collect("quick");
    await eventually(() => expect(quick.messages.length).toBe(1_000), 20_000);
    expect(await trim()).toBe(0);

    // The slow group takes 500, and acknowledges all but the 301st.
    const taken = await idsOf(client, `${stream}:0`, 500);
    await client.send("XREADGROUP", "GROUP", "slow", "me", "COUNT", "500", "STREAMS", `${stream}:0`, ">");
    await client.send("XACK", `${stream}:0`, "slow", ...taken.filter((_, index) => index !== 300));
    expect(await trim()).toBeGreaterThan(100);
    const [oldest] = (await client.send("XRANGE", `${stream}:0`, taken[300] ?? "", taken[300] ?? "")) as unknown[];
    expect(oldest).toBeDefined();
    expect(await length()).toBeGreaterThanOrEqual(700);

    await client.send("XACK", `${stream}:0`, "slow", taken[300] ?? "");
    const slow = await collect("slow");
    await eventually(() => expect(slow.messages.length).toBe(500), 20_000);
    await slow.stop();
    await trim();
    expect(await length()).toBeLessThanOrEqual(200);
  });

  test("trimming is bounded", async () => {
    const { client, stream, publish, length, collect } = await scene();
    await publish(1_000);
    const { messages } = await collect("g");
    await eventually(() => expect(messages.length).toBe(1_000), 20_000);
    expect(await trimRedisStreams(client.client, { stream, partitions: 1, entriesMax: 200 })).toBeLessThanOrEqual(200);
    expect(await length()).toBeGreaterThanOrEqual(800);
  });

  test("deleteAcked deletes, but not while another group reads the stream", async () => {
    const { client, stream, publish, length, collect } = await scene({ deleteAcked: true });
    await ensureRedisStreamsGroup(client.client, { stream, partitions: 1, group: "other" });
    await publish(5);
    const { messages } = await collect("g");
    await eventually(() => expect(messages.length).toBe(5));
    expect(await length()).toBe(5);
    await client.send("XGROUP", "DESTROY", `${stream}:0`, "other");
    await publish(5);
    await eventually(async () => expect(await length()).toBe(5));
    expect(messages.length).toBe(10);
  });

  test("a wake-up ends a pause that would not end by itself", async () => {
    let resting = 0;
    const environment: Environment = {
      ...systemEnvironment,
      after(delayMs, run, options) {
        if (delayMs !== endlessPauseMs) return systemEnvironment.after(delayMs, run, options);
        resting += 1;
        return { cancel: () => undefined };
      },
    };
    const { publish, collect } = await scene({ environment });
    const { messages } = await collect("g");
    await eventually(() => expect(resting).toBeGreaterThan(0), 60_000);
    const ids: string[] = [];
    // Once more, should the first one come before the consumer listens.
    await eventually(async () => {
      ids.push(...(await publish(1)));
      expect(messages.length).toBeGreaterThan(0);
    }, 60_000);
    await eventually(() => expect(messages.map(({ id }) => id)).toEqual(ids), 60_000);
  });

  test("a consumer that stops leaves no name behind", async () => {
    const { client, stream, publish, collect } = await scene();
    const { messages, stop } = await collect("g");
    await publish(3);
    await eventually(() => expect(messages.length).toBe(3));
    expect(await client.send("XINFO", "CONSUMERS", `${stream}:0`, "g")).toHaveLength(1);
    await stop();
    expect(await client.send("XINFO", "CONSUMERS", `${stream}:0`, "g")).toHaveLength(0);
  });

  test("entries that somebody deleted while they were held stop nobody", async () => {
    const { client, stream, publish, collect } = await scene({ ackWaitMs: 50 });
    await ensureRedisStreamsGroup(client.client, { stream, partitions: 1, group: "g" });
    const ids = await publish(3);
    await client.send("XREADGROUP", "GROUP", "g", "dead", "COUNT", "2", "STREAMS", `${stream}:0`, ">");
    await client.send("XDEL", `${stream}:0`, ...(await idsOf(client, `${stream}:0`, 1)));
    const { messages } = await collect("g");
    await eventually(() => expect(messages.map(({ id }) => id)).toEqual(ids.slice(1)));
  });
});

describeWith("redis", "redis streams: a server that forgets", () => {
  test.each(["key", "none"] as const)("groups and scripts that are gone are made again (order %s)", async (order) => {
    const server = await serverWith();
    const client = await opened("ioredis", server.url);
    const { messages } = await collecting(client, { group: "g", order });
    const publisher = redisStreamsPublisher(client.client);
    await publisher.publish(eventOf());
    await eventually(() => expect(messages.length).toBe(1));
    await client.send("SCRIPT", "FLUSH");
    await publisher.publish(eventOf());
    await eventually(() => expect(messages.length).toBe(2));
    await client.send("FLUSHALL");
    await publisher.publish(eventOf());
    await eventually(() => expect(messages.length).toBe(3));
  });
});

describeWith("redis", "redis streams: a server that says nothing for a while", () => {
  test.each(drivers)("looks do not pile up: what comes afterwards counts as handed out once (%s)", async (driver) => {
    const server = await serverWith();
    const client = await opened(driver, server.url);
    const taken: number[] = [];
    const subscription = redisStreamsSubscription(client.client, { group: "g", partitions: 1, callTimeoutMs: 50 });
    await subscription.start({
      async take(delivery) {
        taken.push(delivery.deliveries);
        await delivery.ack();
      },
      unreadable: (delivery) => delivery.ack(),
    });
    onTestFinished(() => subscription.stop());
    const publisher = redisStreamsPublisher((await opened(driver, server.url)).client, { partitions: 1 });
    expect(await publisher.publish(eventOf())).toEqual({ outcome: "sent" });
    await eventually(() => expect(taken).toEqual([1]));
    server.pause();
    const published = publisher.publish(eventOf());
    await new Promise((wait) => setTimeout(wait, 1_500));
    server.resume();
    expect(await published).toEqual({ outcome: "sent" });
    await eventually(() => expect(taken).toEqual([1, 1]));
  });
});

describeWith("redis", "redis streams: a handler that hangs", (url) => {
  test.each(["key", "none"] as const)(
    "B6: its event comes again, and late words change nothing (order %s)",
    async (order) => {
      const client = await opened("ioredis", url);
      const stream = uniqueName("hangs");
      onTestFinished(() => removeKeys(client, stream));
      const publisher = redisStreamsPublisher(client.client, { stream });
      const event = eventOf({ key: "a" });
      expect(await publisher.publish(event)).toEqual({ outcome: "sent" });
      const deliveries: number[] = [];
      const subscription = redisStreamsSubscription(client.client, {
        stream,
        group: "g",
        order,
        ackWaitMs: 1_500,
        concurrency: 1,
      });
      const held: Delivery[] = [];
      await subscription.start({
        take(delivery) {
          deliveries.push(delivery.deliveries);
          held.push(delivery);
          return new Promise(() => undefined);
        },
        unreadable: (delivery) => delivery.ack(),
      });
      onTestFinished(() => subscription.stop({ drainMs: 0 }));
      await eventually(() => expect(deliveries).toEqual([1, 2]), 10_000);
      const other = await collecting(await opened("ioredis", url), { stream, group: "g", order, ackWaitMs: 1_500 });
      // Would give away what the second hand-out holds now.
      await held[0]?.retry(0);
      await new Promise((wait) => setTimeout(wait, 500));
      expect(other.messages).toEqual([]);
      await held[1]?.ack();
      expect(deliveries).toEqual([1, 2]);
    },
  );
});

describeWith("redis", "redis streams: a cluster", () => {
  let cluster: RedisCluster;
  beforeAll(async () => {
    cluster = await startRedisCluster();
  }, 120_000);
  afterAll(() => cluster?.stop());

  describe.each(drivers)("through %s", (driver) => {
    test.each(["key", "none"] as const)("all events arrive, and with order key in order (order %s)", async (order) => {
      const stream = uniqueName("cluster");
      const client = await openCluster(driver, cluster.urls);
      onTestFinished(() => client.end());
      const { messages } = await collecting(client, { stream, group: "g", order });
      const publisher = redisStreamsPublisher(client.client, { stream });
      const keys = Array.from({ length: 20 }, (_, index) => `key-${index}`);
      await Promise.all(
        keys.map(async (key) => {
          for (let index = 0; index < 10; index += 1)
            expect(await publisher.publish(eventOf({ key, id: `${key}.${index}` }))).toEqual({ outcome: "sent" });
        }),
      );
      await eventually(() => expect(messages.length).toBe(200), 20_000);
      if (order === "none") return;
      for (const key of keys)
        expect(messages.filter((message) => message.key === key).map(({ id }) => id)).toEqual(
          Array.from({ length: 10 }, (_, index) => `${key}.${index}`),
        );
    });
  });
});
