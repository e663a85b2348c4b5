import { connect } from "amqplib";
import type { ChannelModel } from "amqplib";
import { expect, onTestFinished, test } from "vitest";
import { partitionOf } from "../../packages/ichido/src/brokers/partition.ts";
import { ensureRabbitmqTopology, rabbitmqPublisher, rabbitmqSubscription } from "ichido/rabbitmq";
import { eventually } from "../support/eventually.ts";
import { describeWith, uniqueName } from "../support/services.ts";
import { eventOf } from "./broker-rig.ts";

const ignore = { take: async () => undefined, unreadable: async () => undefined };

describeWith("rabbitmq", "RabbitMQ settings and refusals", (url) => {
  const link = (): Promise<ChannelModel> => connect(url);

  async function withChannel<T>(run: (channel: Awaited<ReturnType<ChannelModel["createChannel"]>>) => Promise<T>) {
    const connection = await link();
    connection.on("error", () => undefined);
    try {
      const channel = await connection.createChannel();
      channel.on("error", () => undefined);
      return await run(channel);
    } finally {
      await connection.close().catch(() => undefined);
    }
  }

  function freshName(partitions = 8): string {
    const name = uniqueName("rabbit");
    onTestFinished(() =>
      withChannel(async (channel) => {
        const parts = Array.from({ length: partitions }, (_, index) => `${name}.${index}`);
        for (const queue of [...parts, `${name}.u`, name, `${name}.expired`]) await channel.deleteQueue(queue);
        await channel.deleteExchange(name);
      }),
    );
    return name;
  }

  test("back-pressure is respected: after a full socket nothing is written until it drains, and every id is there once", async () => {
    const name = freshName();
    await ensureRabbitmqTopology({ connect: link, exchange: name, queue: name, order: "none" });
    let full = false;
    let stops = 0;
    let tooSoon = 0;
    const publisher = rabbitmqPublisher({
      exchange: name,
      callTimeoutMs: 60_000,
      connect: async () => {
        const connection = await link();
        const create = connection.createConfirmChannel.bind(connection);
        connection.createConfirmChannel = async () => {
          const channel = await create({ highWaterMark: 4 });
          const publish = channel.publish.bind(channel);
          channel.on("drain", () => {
            full = false;
          });
          channel.publish = (...args: Parameters<typeof publish>) => {
            if (full) tooSoon += 1;
            const room = publish(...args);
            if (!room) {
              full = true;
              stops += 1;
            }
            return room;
          };
          return channel;
        };
        return connection;
      },
    });
    const events = Array.from({ length: 60 }, () => eventOf({ payload: new Uint8Array(100_000) }));
    const results = await Promise.all(events.map((event) => publisher.publish(event)));
    expect(results.every(({ outcome }) => outcome === "sent")).toBe(true);
    expect(stops).toBeGreaterThan(0);
    expect(tooSoon).toBe(0);
    const ids: string[] = [];
    const subscription = rabbitmqSubscription({ connect: link, queue: name, order: "none" });
    await subscription.start({
      ...ignore,
      take: async (delivery) => {
        ids.push(delivery.message.id);
        await delivery.ack();
      },
    });
    await eventually(() => expect(ids.length).toBeGreaterThanOrEqual(60), 30_000);
    await subscription.stop();
    expect(ids.toSorted()).toEqual(events.map(({ id }) => id).toSorted());
    await publisher.close();
  });

  test("among many at once exactly those without a queue are rejected, also copies of one id", async () => {
    const name = freshName(8);
    await ensureRabbitmqTopology({ connect: link, exchange: name, queue: name, partitions: 8 });
    const publisher = rabbitmqPublisher({ connect: link, exchange: name, partitions: 16, callTimeoutMs: 30_000 });
    const single = Array.from({ length: 200 }, (_, index) => eventOf({ key: `key-${index}` }));
    const lost = single.find(({ key }) => partitionOf(key ?? "", 16) >= 8);
    const events = [...single, ...(lost === undefined ? [] : [lost, lost, lost])];
    const results = await Promise.all(events.map((event) => publisher.publish(event)));
    expect(results.map(({ outcome }) => outcome)).toEqual(
      events.map(({ key }) => (partitionOf(key ?? "", 16) < 8 ? "sent" : "rejected")),
    );
    expect(new Set(results.map(({ outcome }) => outcome))).toEqual(new Set(["sent", "rejected"]));
    await publisher.close();
  });

  test("of two events with one id and different topics the one without a queue is rejected, whichever is confirmed first", async () => {
    const name = freshName();
    await ensureRabbitmqTopology({ connect: link, exchange: name, queue: name, order: "none", topics: ["order.paid"] });
    const paid = eventOf({ topic: "order.paid" });
    const nowhere = { ...paid, topic: "order.packed" };
    for (const last of [paid, nowhere]) {
      const publisher = rabbitmqPublisher({ exchange: name, connect: () => confirmingLast(last.topic) });
      const results = await Promise.all([publisher.publish(paid), publisher.publish(nowhere)]);
      expect(results.map(({ outcome }) => outcome)).toEqual(["sent", "rejected"]);
      await publisher.close();
    }
  });

  /** What came back does so before its confirm; confirms of different events come in any order, here those of a topic last. */
  async function confirmingLast(topic: string): Promise<ChannelModel> {
    const connection = await link();
    const create = connection.createConfirmChannel.bind(connection);
    connection.createConfirmChannel = async () => {
      const channel = await create();
      const publish = channel.publish.bind(channel);
      const other = Promise.withResolvers<void>();
      const own = Promise.withResolvers<void>();
      channel.publish = (exchange, routingKey, content, options, confirmed) =>
        publish(exchange, routingKey, content, options, (...answer) => {
          const isLast = routingKey.endsWith(topic);
          (isLast ? own : other).resolve();
          // Both have been answered by the server, and so whatever came back has.
          void Promise.all([own.promise, other.promise]).then(() =>
            isLast ? setImmediate(() => confirmed?.(...answer)) : confirmed?.(...answer),
          );
        });
      return channel;
    };
    return connection;
  }

  test("a full queue is unavailable, and takes the same event once there is room", async () => {
    const name = freshName();
    await ensureRabbitmqTopology({ connect: link, exchange: name, queue: name, order: "none", lengthMax: 1 });
    const publisher = rabbitmqPublisher({ connect: link, exchange: name });
    const last = eventOf();
    // A quorum queue may go a little beyond its limit before it refuses.
    await eventually(async () => expect((await publisher.publish(last)).outcome).toBe("unavailable"), 20_000);
    await withChannel((channel) => channel.purgeQueue(name));
    await eventually(async () => expect(await publisher.publish(last)).toEqual({ outcome: "sent" }), 20_000);
    await publisher.close();
  });

  test("an event that would make the server close the channel is rejected, and harms no other", async () => {
    const name = freshName();
    await ensureRabbitmqTopology({ connect: link, exchange: name, queue: name, order: "none" });
    const publisher = rabbitmqPublisher({ connect: link, exchange: name, messageBytesMax: 1_000 });
    const results = await Promise.all(
      [
        eventOf(),
        eventOf({ payload: new Uint8Array(1_001) }),
        eventOf({ headers: { wide: "x".repeat(200_000) } }),
        eventOf({ contentType: `text/${"x".repeat(300)}` }),
        eventOf(),
      ].map((event) => publisher.publish(event)),
    );
    expect(results.map(({ outcome }) => outcome)).toEqual(["sent", "rejected", "rejected", "rejected", "sent"]);
    await publisher.close();
  });

  test("a missing exchange is unavailable until it is there; one that vanishes, too", async () => {
    const name = freshName();
    const publisher = rabbitmqPublisher({ connect: link, exchange: name });
    expect((await publisher.publish(eventOf())).outcome).toBe("unavailable");
    const options = { connect: link, exchange: name, queue: name, order: "none" } as const;
    await ensureRabbitmqTopology(options);
    await eventually(async () => expect(await publisher.publish(eventOf())).toEqual({ outcome: "sent" }));
    await withChannel((channel) => channel.deleteExchange(name));
    const results = await Promise.all([publisher.publish(eventOf()), publisher.publish(eventOf())]);
    expect(results.map(({ outcome }) => outcome)).toEqual(["unavailable", "unavailable"]);
    await ensureRabbitmqTopology(options);
    await eventually(async () => expect(await publisher.publish(eventOf())).toEqual({ outcome: "sent" }), 15_000);
    await publisher.close();
  });

  test("ensuring the topology twice changes nothing; queues with other settings are refused by name", async () => {
    const name = freshName(2);
    const options = { connect: link, exchange: name, queue: name, partitions: 2 };
    await ensureRabbitmqTopology(options);
    await ensureRabbitmqTopology(options);
    await expect(ensureRabbitmqTopology({ ...options, messageTtlMs: 60_000 })).rejects.toThrow(
      new RegExp(`queue ${name}\\.0 exists with other settings`),
    );
  });

  test("a missing queue is named, and nothing starts", async () => {
    const name = freshName();
    const subscription = rabbitmqSubscription({ connect: link, queue: name });
    await expect(subscription.start(ignore)).rejects.toThrow(`queue ${name}.0 does not exist`);
  });

  test("a queue that is deleted and made again is consumed again", async () => {
    const name = freshName();
    const options = { connect: link, exchange: name, queue: name, order: "none" } as const;
    await ensureRabbitmqTopology(options);
    const ids: string[] = [];
    const disturbances: Error[] = [];
    const subscription = rabbitmqSubscription({ connect: link, queue: name, order: "none" });
    await subscription.start({
      ...ignore,
      take: async (delivery) => {
        ids.push(delivery.message.id);
        await delivery.ack();
      },
      disturbed: (error) => void disturbances.push(error),
    });
    await withChannel((channel) => channel.deleteQueue(name));
    await eventually(() => expect(disturbances.length).toBeGreaterThan(0), 15_000);
    await ensureRabbitmqTopology(options);
    const publisher = rabbitmqPublisher({ connect: link, exchange: name });
    const event = eventOf();
    expect(await publisher.publish(event)).toEqual({ outcome: "sent" });
    await eventually(() => expect(ids).toEqual([event.id]), 20_000);
    await subscription.stop();
    await publisher.close();
  });

  test("only wanted topics are handed out", async () => {
    const name = freshName();
    await ensureRabbitmqTopology({ connect: link, exchange: name, queue: name, topics: ["order.paid", "stock.*"] });
    const publisher = rabbitmqPublisher({ connect: link, exchange: name });
    const outcomes: string[] = [];
    for (const topic of ["order.paid", "stock.low", "stock.low.now", "stock", "mail.sent"])
      outcomes.push((await publisher.publish(eventOf({ topic, key: "a" }))).outcome);
    expect(outcomes).toEqual(["sent", "sent", "sent", "rejected", "rejected"]);
    const topics: string[] = [];
    const subscription = rabbitmqSubscription({ connect: link, queue: name });
    await subscription.start({
      ...ignore,
      take: async (delivery) => {
        topics.push(delivery.message.topic);
        await delivery.ack();
      },
    });
    await eventually(() => expect(topics).toEqual(["order.paid", "stock.low", "stock.low.now"]), 15_000);
    await subscription.stop();
    await publisher.close();
  });
});
