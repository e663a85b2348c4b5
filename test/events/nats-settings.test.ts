import { connect, headers } from "@nats-io/transport-node";
import type { NatsConnection } from "@nats-io/transport-node";
import { jetstreamManager } from "@nats-io/jetstream";
import type { JetStreamManager, StreamConfig } from "@nats-io/jetstream";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { ensureNatsConsumers, ensureNatsStream, natsPublisher, natsSubscription } from "ichido/nats";
import { partitionOf } from "../../packages/ichido/src/brokers/partition.ts";
import { eventually } from "../support/eventually.ts";
import { describeWith, uniqueName } from "../support/services.ts";
import { eventOf } from "./broker-rig.ts";

const nanosPerMs = 1_000_000;
const dayMs = 86_400_000;
const ignore = { take: async () => undefined, unreadable: async () => undefined };

describeWith("nats", "NATS settings and refusals", (url) => {
  let connection: NatsConnection;
  let manager: JetStreamManager;

  beforeAll(async () => {
    connection = await connect({ servers: url });
    manager = await jetstreamManager(connection);
  });

  afterAll(async () => {
    await connection?.close();
  });

  function freshName(): string {
    const stream = uniqueName("nats");
    onTestFinished(async () => void (await manager.streams.delete(stream).catch(() => false)));
    return stream;
  }

  const sound = (name: string): Partial<StreamConfig> & { name: string } => ({
    name,
    subjects: [`${name}.>`],
    description: "ichido:partitions=8",
    max_age: 7 * dayMs * nanosPerMs,
    duplicate_window: 120_000 * nanosPerMs,
  });

  test("ensuring a stream and its consumers twice, and at the same time, changes nothing", async () => {
    const stream = freshName();
    const options = { connection, stream, subjectPrefix: stream };
    await Promise.all([ensureNatsStream(options), ensureNatsStream(options), ensureNatsStream(options)]);
    const { config } = await manager.streams.info(stream);
    const subscribed = { ...options, durable: "shop", topics: ["order.*"] };
    await ensureNatsConsumers(subscribed);
    await ensureNatsConsumers(subscribed);
    await ensureNatsStream(options);
    expect((await manager.streams.info(stream)).config).toEqual(config);
    const consumer = await manager.consumers.info(stream, "shop-3");
    expect(consumer.config).toMatchObject({ max_ack_pending: 1, filter_subject: `${stream}.3.order.>` });
  });

  const unsafe: readonly (readonly [Partial<StreamConfig>, RegExp])[] = [
    [{ storage: "memory" as StreamConfig["storage"] }, /storage memory/],
    [{ max_msgs: 1_000 }, /discard old/],
    [{ max_bytes: 1_000_000 }, /discard old/],
    [{ max_msgs_per_subject: 5 }, /max_msgs_per_subject/],
    [{ retention: "interest" as StreamConfig["retention"] }, /retention interest/],
    [{ duplicate_window: 1_000 * nanosPerMs }, /duplicate_window of 1000 ms/],
    [{ max_age: 0 }, /max_age unlimited/],
    [{ max_age: 30 * dayMs * nanosPerMs }, /max_age 2592000000 ms/],
    [{ no_ack: true }, /no_ack/],
    [{ description: "" }, /does not say its partitions/],
    [{ description: "ichido:partitions=16" }, /has 16 partitions, not 8/],
    [{ subjects: ["elsewhere_ichido.>"] }, /does not take the subject/],
  ];

  test.each(unsafe)(
    "a stream with %o is refused by name, and its subscription does not start",
    async (change, words) => {
      const stream = freshName();
      const config = { ...sound(stream), ...change };
      // The name of the stream keeps parallel runs apart.
      if (change.subjects !== undefined) config.subjects = [`elsewhere_${stream}.>`];
      await manager.streams.add(config);
      const options = { connection, stream, subjectPrefix: stream };
      await expect(ensureNatsStream(options)).rejects.toThrow(words);
      await expect(ensureNatsStream(options)).rejects.toThrow(stream);
      await expect(natsSubscription({ ...options, durable: "shop" }).start(ignore)).rejects.toThrow(words);
    },
  );

  test("a size limit that refuses new events is unavailable when it is reached, never sent", async () => {
    const stream = freshName();
    await manager.streams.add({ ...sound(stream), max_msgs: 1, discard: "new" as StreamConfig["discard"] });
    const publisher = natsPublisher({ connection, headers, stream, subjectPrefix: stream });
    expect(await publisher.publish(eventOf({ key: "a" }))).toEqual({ outcome: "sent" });
    expect((await publisher.publish(eventOf({ key: "a" }))).outcome).toBe("unavailable");
  });

  test("an event larger than the stream or the server takes is rejected; others pass", async () => {
    const stream = freshName();
    await manager.streams.add({ ...sound(stream), max_msg_size: 10_000 });
    const publisher = natsPublisher({ connection, headers, stream, subjectPrefix: stream });
    const [large, huge, small] = await Promise.all(
      [20_000, 2_000_000, 100].map((length) => publisher.publish(eventOf({ payload: new Uint8Array(length) }))),
    );
    expect([large?.outcome, huge?.outcome, small?.outcome]).toEqual(["rejected", "rejected", "sent"]);
    const wide = await publisher.publish(eventOf({ headers: { wide: "x".repeat(1_100_000) } }));
    expect(wide.outcome).toBe("rejected");
  });

  test("a missing stream is unavailable until it is there", async () => {
    const stream = freshName();
    const publisher = natsPublisher({ connection, headers, stream, subjectPrefix: stream });
    const result = await publisher.publish(eventOf());
    expect(result).toMatchObject({ outcome: "unavailable", error: { message: expect.stringContaining(stream) } });
    await ensureNatsStream({ connection, stream, subjectPrefix: stream });
    expect(await publisher.publish(eventOf())).toEqual({ outcome: "sent" });
    await manager.streams.delete(stream);
    expect((await publisher.publish(eventOf())).outcome).toBe("unavailable");
  });

  test("missing or changed consumers are named, and nothing starts", async () => {
    const stream = freshName();
    const layout = { connection, stream, subjectPrefix: stream, partitions: 8 };
    const options = { ...layout, durable: "shop" };
    await ensureNatsStream(layout);
    await expect(natsSubscription(options).start(ignore)).rejects.toThrow(/shop-0, shop-1.*ensureNatsConsumers/);
    await ensureNatsConsumers(options);
    const other = { ...options, ackWaitMs: 5_000 };
    await expect(natsSubscription(other).start(ignore)).rejects.toThrow(/shop-\d.*ack_wait 30000 ms, not 5000/);
    await expect(ensureNatsConsumers(other)).rejects.toThrow(/ack_wait/);
  });

  test("only wanted topics are handed out, also of several patterns", async () => {
    const stream = freshName();
    const layout = { connection, stream, subjectPrefix: stream };
    const options = { ...layout, durable: "shop" };
    await ensureNatsStream(layout);
    const publisher = natsPublisher({ connection, headers, stream, subjectPrefix: stream });
    for (const topic of ["order.paid", "stock.low", "stock.low.now", "mail.sent", "order.paid.twice"])
      expect(await publisher.publish(eventOf({ topic, key: "a" }))).toEqual({ outcome: "sent" });
    const wish = { ...options, topics: ["order.paid", "stock.*"] };
    await ensureNatsConsumers(wish);
    const topics: string[] = [];
    const subscription = natsSubscription(wish);
    await subscription.start({
      ...ignore,
      take: async (delivery) => {
        topics.push(delivery.message.topic);
        await delivery.ack();
      },
    });
    await eventually(() => expect(topics).toEqual(["order.paid", "stock.low", "stock.low.now"]));
    await eventually(async () =>
      expect((await manager.consumers.info(stream, `shop-${partitionOf("a", 8)}`)).ack_floor.stream_seq).toBe(5),
    );
    await subscription.stop();
  });

  test("a function makes a new connection when the old one is closed for good", async () => {
    const stream = freshName();
    const made: NatsConnection[] = [];
    const source = async (): Promise<NatsConnection> => {
      const next = await connect({ servers: url, reconnect: false });
      made.push(next);
      return next;
    };
    const options = { stream, subjectPrefix: stream };
    await ensureNatsStream({ ...options, connection: source });
    await ensureNatsConsumers({ ...options, connection: source, durable: "shop" });
    expect(made.every((each) => each.isClosed())).toBe(true);
    const publisher = natsPublisher({ ...options, connection: source, headers });
    const subscription = natsSubscription({ ...options, connection: source, durable: "shop" });
    const ids: string[] = [];
    const disturbances: string[] = [];
    await subscription.start({
      ...ignore,
      take: async (delivery) => {
        ids.push(delivery.message.id);
        await delivery.ack();
      },
      disturbed: (error) => void disturbances.push(error.message),
    });
    const first = eventOf({ key: "a" });
    expect(await publisher.publish(first)).toEqual({ outcome: "sent" });
    await eventually(() => expect(ids).toEqual([first.id]));
    await Promise.all(made.map((each) => each.close()));
    const second = eventOf({ key: "a" });
    await eventually(async () => expect(await publisher.publish(second)).toEqual({ outcome: "sent" }));
    await eventually(() => expect(ids).toEqual([first.id, second.id]), 15_000);
    expect(disturbances).toContain("nats: connected again");
    await subscription.stop();
    await publisher.close();
    expect(made.every((each) => each.isClosed())).toBe(true);
  });

  test("the user's own connection is never closed, and options are checked", async () => {
    const stream = freshName();
    await ensureNatsStream({ connection, stream, subjectPrefix: stream });
    const publisher = natsPublisher({ connection, headers, stream, subjectPrefix: stream });
    await publisher.publish(eventOf());
    await publisher.close();
    expect(connection.isClosed()).toBe(false);
    expect((await publisher.publish(eventOf())).outcome).toBe("unavailable");
    const base = { connection, stream, subjectPrefix: stream };
    expect(() => natsPublisher({ ...base, headers, partitions: 0 })).toThrow(/option partitions: .* got 0/);
    expect(() => natsPublisher({ ...base, headers, subjectPrefix: "a.>" })).toThrow(/option subjectPrefix/);
    expect(() => natsSubscription({ ...base, durable: "a b" })).toThrow(/option durable/);
    expect(() => natsSubscription({ ...base, durable: "a", topics: ["order.>"] })).toThrow(/option topics/);
  });
});
