/**
 * The guarantees B1 to B7 of brokers/broker.ts, on a real server. A broker describes itself as a `BrokerUnderTest`; each
 * test takes a rig of its own: fresh names, removed afterwards. Tests that stop or pause a server start a private one.
 */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { Delivery } from "../../packages/ichido/src/brokers/broker.ts";
import { eventually } from "../support/eventually.ts";
import { brokerOutages } from "./broker-outages.ts";
import { collector, eventOf, openRig, publishInOrder, started, type BrokerUnderTest } from "./broker-rig.ts";

const never = new Promise<void>(() => {});

export function brokerSuite(broker: BrokerUnderTest): void {
  describe(`${broker.name} keeps the contract of brokers`, () => {
    test.each(["key", "none"] as const)(
      "B1: what was sent is there for a subscription that starts later (order %s)",
      async (order) => {
        const rig = await openRig(broker);
        const publisher = await rig.publisher();
        const events = [eventOf({ key: "a" }), eventOf({ key: "b" }), eventOf()];
        for (const event of events) expect(await publisher.publish(event)).toEqual({ outcome: "sent" });
        await publisher.close();
        const taker = collector();
        await started(await rig.subscription({ order }), taker);
        await eventually(() => expect(taker.ids().toSorted()).toEqual(events.map(({ id }) => id).toSorted()), 15_000);
        expect(taker.deliveries.every(({ deliveries }) => deliveries === 1)).toBe(true);
      },
    );

    test("B1: an event that nobody would get is not sent", async ({ skip }) => {
      const rig = await openRig(broker);
      if (rig.unroutablePublisher === undefined) return skip("this broker has a place for every event");
      const publisher = await rig.unroutablePublisher();
      const results = await Promise.all([1, 2, 3].map(() => publisher.publish(eventOf({ key: "a" }))));
      for (const result of results) expect(result.outcome).not.toBe("sent");
      await publisher.close();
    });

    test("B1: every attribute, any bytes and headers beyond ASCII arrive as they were sent", async () => {
      const rig = await openRig(broker);
      const publisher = await rig.publisher();
      const events = [
        eventOf({ key: "schlüssel 100% 鍵\t", payload: Uint8Array.from({ length: 256 }, (_, byte) => byte) }),
        eventOf({ payload: new Uint8Array(0), contentType: "application/octet-stream" }),
        eventOf({ key: "large", payload: randomBytes(200_000) }),
        eventOf({
          key: "all",
          topic: "stock-level.changed.2",
          source: "/shop/ö?x=1&y=%20",
          contentType: 'text/plain; charset="utf-8"',
          correlationId: "corr é",
          causationId: "cause 1",
          traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
          tracestate: "a=1,b=2",
          headers: { "x-name": "Žofie 日本 🙂", plain: "a b", percent: "100%25", empty: "" },
        }),
      ];
      for (const event of events) expect(await publisher.publish(event)).toEqual({ outcome: "sent" });
      const taker = collector();
      await started(await rig.subscription({ order: "key" }), taker);
      await eventually(() => expect(taker.deliveries.length).toBe(events.length), 15_000);
      for (const event of events) {
        const arrived = taker.deliveries.find(({ message }) => message.id === event.id)?.message;
        expect({ ...arrived, payload: Buffer.from(arrived?.payload ?? "missing").toString("hex") }).toEqual({
          ...event,
          payload: Buffer.from(event.payload).toString("hex"),
        });
      }
    });

    test("B4: events that share an id and differ in source, topic or payload are all sent and all arrive", async () => {
      const rig = await openRig(broker);
      const publisher = await rig.publisher();
      const first = eventOf({ key: "a" });
      const events = [
        first,
        { ...first, topic: "order.packed" },
        { ...first, source: "/elsewhere" },
        { ...first, payload: new TextEncoder().encode('{"other":1}') },
      ];
      for (const event of events) expect(await publisher.publish(event)).toEqual({ outcome: "sent" });
      const taker = collector();
      await started(await rig.subscription({ order: "key" }), taker);
      await eventually(() => expect(taker.deliveries).toHaveLength(events.length), 15_000);
    });

    test("B4: a second copy of an id is sent, and dropped where the broker can", async () => {
      const rig = await openRig(broker);
      const publisher = await rig.publisher();
      const event = eventOf({ key: "a" });
      const last = eventOf({ key: "a" });
      for (const each of [event, event, last]) expect(await publisher.publish(each)).toEqual({ outcome: "sent" });
      const taker = collector();
      await started(await rig.subscription({ order: "key" }), taker);
      await eventually(() => expect(taker.ids()).toContain(last.id), 15_000);
      expect(taker.ids()).toEqual(broker.dedups ? [event.id, last.id] : [event.id, event.id, last.id]);
    });

    test(
      "B5: keys stay in order over two consumers, one of which dies without an answer",
      { timeout: 120_000 },
      async () => {
        const rig = await openRig(broker);
        const publisher = await rig.publisher();
        const keys = Array.from({ length: 24 }, (_, index) => `key-${index}`);
        const each = 15;
        const wish = { order: "key", ackWaitMs: 2_000 } as const;
        const acknowledged: string[] = [];
        const open = new Map<string, number>();
        const overlaps: string[] = [];
        const seen = new Map<string, number[]>();
        const handle = async (delivery: Delivery): Promise<void> => {
          const { key, index } = JSON.parse(new TextDecoder().decode(delivery.message.payload)) as {
            key: string;
            index: number;
          };
          const former = seen.get(key) ?? [];
          seen.set(key, [...former, index]);
          const running = open.get(key);
          if (running !== undefined && running !== index) overlaps.push(`${key}: ${index} while ${running} was open`);
          open.set(key, index);
          await sleep(1);
          open.delete(key);
          acknowledged.push(delivery.message.id);
          await delivery.ack();
        };

        const mortal = await rig.mortalSubscription(wish);
        let takenByMortal = 0;
        let dead = false;
        const mortalTaker = collector(async (delivery) => {
          takenByMortal += 1;
          // Its last ones are never answered: they were handed out, and then their consumer was gone.
          if (dead || takenByMortal > 20) return never;
          return handle(delivery);
        });
        await mortal.subscription.start(mortalTaker);
        const survivor = collector(handle);
        const publishing = publishInOrder(publisher, keys, each);
        await eventually(() => expect(takenByMortal).toBeGreaterThan(20), 30_000);
        await started(await rig.subscription(wish), survivor);
        dead = true;
        await mortal.die();
        const events = await publishing;
        await eventually(() => expect(new Set(acknowledged).size).toBe(events.length), 60_000);
        expect(overlaps).toEqual([]);
        for (const key of keys) {
          const order = seen.get(key) ?? [];
          // A repeated one may follow only itself: nothing newer was handed out before it was acknowledged.
          expect(order.filter((index, at) => index !== order[at - 1])).toEqual(
            Array.from({ length: each }, (_, index) => index),
          );
        }
      },
    );

    test("B5: a delivery that is given back comes again before the next of its key", async () => {
      const rig = await openRig(broker);
      const publisher = await rig.publisher();
      const events = await publishInOrder(publisher, ["a"], 6);
      let refusals = 0;
      const taker = collector(async (delivery) => {
        if (delivery.message.id === events[1]?.id && refusals < 2) {
          refusals += 1;
          return delivery.retry(50);
        }
        return delivery.ack();
      });
      await started(await rig.subscription({ order: "key" }), taker);
      await eventually(() => expect(taker.ids()).toContain(events[5]?.id), 20_000);
      expect(taker.ids()).toEqual([0, 1, 1, 1, 2, 3, 4, 5].map((index) => events[index]?.id));
    });

    test.each(["key", "none"] as const)(
      "B6: a delivery given back for a while is handed out again and counted (order %s)",
      async (order) => {
        const rig = await openRig(broker);
        const publisher = await rig.publisher();
        const event = eventOf({ key: "a" });
        expect(await publisher.publish(event)).toEqual({ outcome: "sent" });
        const times: number[] = [];
        const taker = collector((delivery) => {
          times.push(performance.now());
          return delivery.deliveries === 1 ? delivery.retry(400) : delivery.ack();
        });
        await started(await rig.subscription({ order, ackWaitMs: 5_000 }), taker);
        await eventually(() => expect(taker.deliveries.length).toBe(2), 20_000);
        expect(taker.deliveries.map(({ deliveries }) => deliveries)).toEqual([1, 2]);
        expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(300);
      },
    );

    test("B6: what a dead consumer had not answered is handed out to another one", async () => {
      const rig = await openRig(broker);
      const publisher = await rig.publisher();
      const event = eventOf({ key: "a" });
      expect(await publisher.publish(event)).toEqual({ outcome: "sent" });
      const wish = { order: "none", ackWaitMs: 1_500 } as const;
      const mortal = await rig.mortalSubscription(wish);
      const silent = collector(() => never);
      await mortal.subscription.start(silent);
      await eventually(() => expect(silent.ids()).toEqual([event.id]), 15_000);
      await mortal.die();
      const taker = collector();
      await started(await rig.subscription(wish), taker);
      await eventually(() => expect(taker.ids()).toEqual([event.id]), 20_000);
      expect(taker.deliveries[0]?.deliveries).toBeGreaterThanOrEqual(2);
    });

    test("B6: a consumer at work keeps its delivery", async () => {
      const rig = await openRig(broker);
      const publisher = await rig.publisher();
      expect(await publisher.publish(eventOf({ key: "a" }))).toEqual({ outcome: "sent" });
      const taker = collector(async (delivery) => {
        for (let beat = 0; beat < 10; beat += 1) {
          await sleep(300);
          await delivery.working();
        }
        await delivery.ack();
      });
      const wish = { order: "key", ackWaitMs: 1_500 } as const;
      await started(await rig.subscription(wish), taker);
      const other = collector();
      await started(await rig.subscription(wish), other);
      await eventually(() => expect(taker.deliveries.length + other.deliveries.length).toBe(1), 15_000);
      await sleep(4_500);
      expect(taker.deliveries.length + other.deliveries.length).toBe(1);
    });

    test("B7: what is no event is told as unreadable, with its bytes, and stops nobody", async () => {
      const rig = await openRig(broker);
      const publisher = await rig.publisher();
      const noise = new Uint8Array([0, 255, 10, 13, 123]);
      await rig.publishUnreadable(noise);
      const events = await publishInOrder(publisher, ["a", "b", "c"], 3);
      const taker = collector();
      const subscription = await started(await rig.subscription({ order: "key" }), taker);
      await eventually(() => expect(taker.deliveries.length).toBe(events.length), 15_000);
      await eventually(() => expect(taker.unreadables.length).toBe(1), 15_000);
      const [unreadable] = taker.unreadables;
      expect(Buffer.from(unreadable?.raw ?? [])).toEqual(Buffer.from(noise));
      expect(unreadable?.error).toBeInstanceOf(Error);
      expect(unreadable?.deliveries).toBe(1);
      await subscription.stop();
      const after = collector();
      await started(await rig.subscription({ order: "key" }), after);
      await sleep(500);
      expect(after.unreadables).toEqual([]);
    });

    test.each(["key", "none"] as const)("stop waits for what runs (order %s)", async (order) => {
      const rig = await openRig(broker);
      const publisher = await rig.publisher();
      expect(await publisher.publish(eventOf({ key: "a" }))).toEqual({ outcome: "sent" });
      let answered = false;
      const taker = collector(async (delivery) => {
        await sleep(400);
        await delivery.ack();
        answered = true;
      });
      const subscription = await rig.subscription({ order });
      await subscription.start(taker);
      await eventually(() => expect(taker.deliveries.length).toBe(1), 15_000);
      await subscription.stop({ drainMs: 10_000 });
      expect(answered).toBe(true);
      const next = collector();
      await started(await rig.subscription({ order }), next);
      await sleep(500);
      expect(next.ids()).toEqual([]);
    });

    test.each(["key", "none"] as const)("stop hands back what was not answered in time (order %s)", async (order) => {
      const rig = await openRig(broker);
      const publisher = await rig.publisher();
      const events = await publishInOrder(publisher, ["a", "b"], 3);
      const taker = collector(() => never);
      // Far longer than this test: only a delivery that was handed back can come again.
      const wish = { order, ackWaitMs: 600_000 } as const;
      const subscription = await rig.subscription(wish);
      await subscription.start(taker);
      await eventually(() => expect(taker.deliveries.length).toBeGreaterThan(0), 15_000);
      await subscription.stop({ drainMs: 100 });
      const next = collector();
      await started(await rig.subscription(wish), next);
      const ids = events.map(({ id }) => id).toSorted();
      await eventually(() => expect([...new Set(next.ids())].toSorted()).toEqual(ids), 20_000);
    });

    test("an unordered subscription has no more than its concurrency at once", async () => {
      const rig = await openRig(broker);
      const publisher = await rig.publisher();
      await Promise.all(Array.from({ length: 100 }, (_, index) => publisher.publish(eventOf({ key: `k${index}` }))));
      let running = 0;
      let most = 0;
      const taker = collector(async (delivery) => {
        running += 1;
        most = Math.max(most, running);
        await sleep(10);
        running -= 1;
        await delivery.ack();
      });
      await started(await rig.subscription({ order: "none", concurrency: 5 }), taker);
      await eventually(() => expect(new Set(taker.ids()).size).toBe(100), 30_000);
      expect(most).toBe(5);
    });

    test.each(["key", "none"] as const)("2000 events published 64 at a time all arrive (order %s)", async (order) => {
      const rig = await openRig(broker);
      const publisher = await rig.publisher({ callTimeoutMs: 30_000 });
      const taker = collector();
      await started(await rig.subscription({ order, concurrency: 64 }), taker);
      const events = Array.from({ length: 2_000 }, (_, index) => eventOf({ key: `key-${index % 300}` }));
      const waiting = events.values();
      await Promise.all(
        Array.from({ length: 64 }, async () => {
          for (const event of waiting) expect(await publisher.publish(event)).toEqual({ outcome: "sent" });
        }),
      );
      await eventually(() => expect(new Set(taker.ids()).size).toBe(2_000), 60_000);
      expect(taker.ids().length).toBe(2_000);
    });
  });

  brokerOutages(broker);
}
