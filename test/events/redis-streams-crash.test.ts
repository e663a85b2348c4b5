/** Consumers that die or freeze in the middle of a batch, in processes of their own. */
import { spawnChild } from "ichido/testing";
import { redisStreamsPublisher, redisStreamsSubscription } from "ichido/redis-streams";
import { expect, onTestFinished, test } from "vitest";
import type { Delivery } from "../../packages/ichido/src/brokers/broker.ts";
import { drivers, openClient, removeKeys } from "../stores/redis-clients.ts";
import type { Driver } from "../stores/redis-clients.ts";
import { eventually } from "../support/eventually.ts";
import { describeWith, uniqueName } from "../support/services.ts";
import { eventOf } from "./broker-rig.ts";

const ackWaitMs = 2_000;
const acks = 3;
const ids = Array.from({ length: 10 }, (_, index) => `event-${index}`);

describeWith("redis", "redis streams: consumers in trouble", (url) => {
  async function scene(driver: Driver) {
    const stream = uniqueName("crash");
    const client = await openClient(driver, url);
    onTestFinished(async () => {
      await removeKeys(client, stream);
      await client.end();
    });
    const publisher = redisStreamsPublisher(client.client, { stream, partitions: 1 });
    for (const id of ids) expect(await publisher.publish(eventOf({ id, key: "one" }))).toEqual({ outcome: "sent" });
    const child = await spawnChild(new URL("./redis-streams.child.ts", import.meta.url), {
      args: [driver, url, stream, String(ackWaitMs), String(acks)],
      execArgv: ["--conditions=ichido-source", "--disable-warning=ExperimentalWarning"],
    });
    onTestFinished(async () => void (await child.kill()));
    // In the middle of its batch: it holds the fourth, and has six more in memory.
    await child.waitFor(new RegExp(`took ${ids[acks]}`));
    const taken: { id: string; deliveries: number }[] = [];
    const subscription = redisStreamsSubscription(client.client, {
      stream,
      group: "suite",
      partitions: 1,
      ackWaitMs,
    });
    const start = (answer: (delivery: Delivery) => Promise<void> = (delivery) => delivery.ack()): Promise<void> => {
      onTestFinished(() => subscription.stop({ drainMs: 0 }));
      return subscription.start({
        async take(delivery) {
          taken.push({ id: delivery.message.id, deliveries: delivery.deliveries });
          await answer(delivery);
        },
        unreadable: async () => undefined,
      });
    };
    return { child, taken, start };
  }

  test.each(drivers)("B5, B6: what a killed process held comes to another one, in order (%s)", async (driver) => {
    const { child, taken, start } = await scene(driver);
    await child.kill("SIGKILL");
    await start();
    await eventually(() => expect(taken.length).toBe(ids.length - acks), 15_000);
    expect(taken.map(({ id }) => id)).toEqual(ids.slice(acks));
    // Only the one that was really handed out counts twice: a message that kills processes can be told from its neighbours.
    expect(taken.map(({ deliveries }) => deliveries)).toEqual([2, 1, 1, 1, 1, 1, 1]);
  });

  test("B5: nothing is taken from a consumer before ackWaitMs has passed", async () => {
    const { child, taken, start } = await scene("ioredis");
    const stoppedAt = Date.now();
    await child.kill("SIGKILL");
    let firstAt = 0;
    await start((delivery) => {
      firstAt ||= Date.now();
      return delivery.ack();
    });
    await eventually(() => expect(taken.length).toBe(ids.length - acks), 15_000);
    // Its last sign of life came a little before its end.
    expect(firstAt - stoppedAt).toBeGreaterThan(ackWaitMs / 4);
  });

  test("B5: a process that was frozen for too long hands out nothing of what it held", async () => {
    const { child, taken, start } = await scene("ioredis");
    child.pause();
    // Holds the fourth: the frozen one must not go on with the fifth meanwhile.
    const { promise: goOn, resolve } = Promise.withResolvers<void>();
    let beat: NodeJS.Timeout | undefined;
    await start(async (delivery) => {
      if (delivery.message.id === ids[acks]) {
        beat = setInterval(() => void delivery.working(), ackWaitMs / 20);
        await goOn;
        clearInterval(beat);
      }
      await delivery.ack();
    });
    onTestFinished(() => clearInterval(beat));
    await eventually(() => expect(taken.length).toBe(1), 15_000);
    child.write("go on");
    child.resume();
    await child.waitFor(new RegExp(`acked ${ids[acks]}`));
    // Longer than anything stays held without a sign of life.
    await new Promise((wait) => setTimeout(wait, ackWaitMs * 1.5));
    resolve();
    await eventually(() => expect(taken.length).toBe(ids.length - acks), 15_000);
    expect(taken.map(({ id }) => id)).toEqual(ids.slice(acks));
    expect(child.lines.filter((line) => line.startsWith("took"))).toEqual(
      ids.slice(0, acks + 1).map((id) => `took ${id}`),
    );
  });
});
