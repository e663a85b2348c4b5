import { describe, expect, test } from "vitest";
import { inProcess } from "ichido/in-process";
import type { Delivery, Taker } from "../../packages/ichido/src/brokers/broker.ts";
import type { EventMessage } from "../../packages/ichido/src/brokers/message.ts";

function message(id: string, key = "k"): EventMessage {
  return {
    id,
    topic: "order.paid",
    key,
    source: "test",
    time: "2026-01-01T00:00:00.000Z",
    contentType: "application/json",
    payload: new TextEncoder().encode(`{"id":"${id}"}`),
    headers: {},
  };
}

function taker(take: (delivery: Delivery) => Promise<void>): Taker {
  return { take, unreadable: async () => undefined };
}

describe("in-process", () => {
  test("sent only after the taker acknowledged", async () => {
    const { publisher, subscription } = inProcess();
    const { promise: committed, resolve: commit } = Promise.withResolvers<void>();
    let settled = false;
    await subscription.start(
      taker(async (delivery) => {
        await committed;
        await delivery.ack();
      }),
    );
    const published = publisher.publish(message("a")).finally(() => (settled = true));
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(settled).toBe(false);
    commit();
    expect(await published).toEqual({ outcome: "sent" });
  });

  test("unavailable while nobody takes", async () => {
    const { publisher, subscription } = inProcess();
    expect(await publisher.publish(message("a"))).toMatchObject({ outcome: "unavailable" });
    await subscription.start(taker((delivery) => delivery.ack()));
    expect(await publisher.publish(message("a"))).toEqual({ outcome: "sent" });
    await subscription.stop();
    expect(await publisher.publish(message("b"))).toMatchObject({ outcome: "unavailable" });
  });

  test("unavailable with the delay and the key when the taker wants it again; deliveries count up", async () => {
    const { publisher, subscription } = inProcess();
    const seen: number[] = [];
    await subscription.start(
      taker(async (delivery) => {
        seen.push(delivery.deliveries);
        await (seen.length < 3 ? delivery.retry(1234) : delivery.ack());
      }),
    );
    const refused = { outcome: "later", delayMs: 1234 };
    expect(await publisher.publish(message("a"))).toMatchObject(refused);
    expect(await publisher.publish(message("a"))).toMatchObject(refused);
    expect(await publisher.publish(message("a"))).toEqual({ outcome: "sent" });
    expect(seen).toEqual([1, 2, 3]);
    await publisher.publish(message("a"));
    expect(seen.at(-1)).toBe(1);
  });

  test("later when the taker fails or gives no answer", async () => {
    const { publisher, subscription } = inProcess();
    const ways = [async () => undefined, () => Promise.reject(new Error("no"))];
    await subscription.start(taker(() => (ways.shift() ?? ways[0])?.() ?? Promise.resolve()));
    expect(await publisher.publish(message("a"))).toMatchObject({ outcome: "later" });
    expect(await publisher.publish(message("b"))).toMatchObject({ outcome: "later" });
  });

  test("after its timeout it is for later, and brought again it waits for the work that still runs", async () => {
    const { publisher, subscription } = inProcess({ callTimeoutMs: 30 });
    const { promise: committed, resolve: commit } = Promise.withResolvers<void>();
    let handed = 0;
    await subscription.start(
      taker(async (delivery) => {
        handed += 1;
        await committed;
        await delivery.ack();
      }),
    );
    expect(await publisher.publish(message("a"))).toMatchObject({ outcome: "later" });
    const again = publisher.publish(message("a"));
    commit();
    expect(await again).toEqual({ outcome: "sent" });
    expect(handed).toBe(1);
  });

  test("sent when every subscription acknowledged, not before", async () => {
    const broker = inProcess();
    const second = broker.addSubscription("mail");
    await broker.subscription.start(taker((delivery) => delivery.ack()));
    expect(await broker.publisher.publish(message("a"))).toMatchObject({ outcome: "unavailable" });
    let tries = 0;
    await second.start(taker((delivery) => ((tries += 1) === 1 ? delivery.retry(5) : delivery.ack())));
    expect(await broker.publisher.publish(message("a"))).toMatchObject({ outcome: "later", delayMs: 5 });
    expect(await broker.publisher.publish(message("a"))).toEqual({ outcome: "sent" });
  });

  test("events that share an id and differ in topic or source are two events, also at the same time", async () => {
    const { publisher, subscription } = inProcess();
    const { promise: committed, resolve: commit } = Promise.withResolvers<void>();
    const seen: string[] = [];
    await subscription.start(
      taker(async (delivery) => {
        const { topic, source } = delivery.message;
        seen.push(`${source} ${topic} ${delivery.deliveries}`);
        await committed;
        await delivery.ack();
      }),
    );
    const first = message("a");
    const events = [first, { ...first, topic: "order.packed" }, { ...first, source: "elsewhere" }, first];
    const published = Promise.all(events.map((event) => publisher.publish(event)));
    commit();
    expect(await published).toEqual(events.map(() => ({ outcome: "sent" })));
    expect(seen).toEqual(["test order.paid 1", "test order.packed 1", "elsewhere order.paid 1"]);
  });

  test("stop waits for what runs and gives back what does not end in time", async () => {
    const { publisher, subscription } = inProcess();
    const { promise: committed, resolve: commit } = Promise.withResolvers<void>();
    await subscription.start(
      taker(async (delivery) => {
        if (delivery.message.id === "slow") await new Promise(() => undefined);
        await committed;
        await delivery.ack();
      }),
    );
    const quick = publisher.publish(message("quick"));
    const stopped = subscription.stop({ drainMs: 5_000 });
    commit();
    await stopped;
    expect(await quick).toEqual({ outcome: "sent" });

    await subscription.start(taker(() => new Promise(() => undefined)));
    const slow = publisher.publish(message("slow"));
    await subscription.stop({ drainMs: 10 });
    expect(await slow).toMatchObject({ outcome: "unavailable" });
  });

  test("a second start, a name twice and a wrong option are refused", async () => {
    const broker = inProcess();
    await broker.subscription.start(taker((delivery) => delivery.ack()));
    await expect(broker.subscription.start(taker((delivery) => delivery.ack()))).rejects.toThrow(/started already/);
    expect(() => broker.addSubscription("in-process")).toThrow(/name that no other/);
    expect(() => inProcess({ callTimeoutMs: 0 })).toThrow(/^option callTimeoutMs: expected an integer from 1/);
  });
});
