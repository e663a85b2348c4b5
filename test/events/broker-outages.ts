/** Guarantees B2 and B3 while a private server is killed, restarted and silent. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { Instance } from "../support/services.ts";
import { collector, eventOf, openRig, publishInOrder, started, type BrokerUnderTest } from "./broker-rig.ts";

const outageMs = 60_000;

export function brokerOutages(broker: BrokerUnderTest): void {
  describe(`${broker.name} when the server goes away`, () => {
    let server: Instance;

    beforeAll(async () => {
      server = await broker.startServer();
    });

    afterAll(async () => {
      await server?.stop();
    });

    test(
      "B2, B3: unavailable within the timeout while it is down, sent again once it is back, and nothing is lost",
      { timeout: 240_000 },
      async () => {
        const rig = await openRig(broker, server.url);
        const publisher = await rig.publisher({ callTimeoutMs: 2_000 });
        const taker = collector();
        await started(await rig.subscription({ order: "key", ackWaitMs: 3_000 }), taker);
        const before = await publishInOrder(publisher, ["a", "b"], 3);
        await rig.settle?.();
        await server.kill("SIGKILL");
        const during = eventOf({ key: "a" });
        const asked = performance.now();
        const results = await Promise.all([publisher.publish(during), publisher.publish(eventOf({ key: "b" }))]);
        expect(results.map(({ outcome }) => outcome)).toEqual(["unavailable", "unavailable"]);
        expect(performance.now() - asked).toBeLessThan(10_000);
        await server.restart();
        await eventually(async () => expect(await publisher.publish(during)).toEqual({ outcome: "sent" }), outageMs);
        const after = await publishInOrder(publisher, ["a", "b", "c"], 3);
        const ids = [...before, during, ...after].map(({ id }) => id);
        await eventually(() => expect(ids.filter((id) => !taker.ids().includes(id))).toEqual([]), outageMs);
        expect(taker.disturbances.length).toBeGreaterThan(0);
        const ofKey = after.filter(({ key }) => key === "a").map(({ id }) => id);
        const firsts = [...new Set(taker.ids())].filter((id) => ofKey.includes(id));
        expect(firsts).toEqual(ofKey);
      },
    );

    test(
      "B2, B3: a server that keeps its connections and says nothing is unavailable",
      { timeout: 240_000 },
      async () => {
        const rig = await openRig(broker, server.url);
        const publisher = await rig.publisher({ callTimeoutMs: 1_000 });
        expect(await publisher.publish(eventOf({ key: "a" }))).toEqual({ outcome: "sent" });
        const event = eventOf({ key: "a" });
        server.pause();
        // The signal is on its way; a thread may still finish what it has begun.
        await sleep(200);
        try {
          const asked = performance.now();
          expect((await publisher.publish(event)).outcome).toBe("unavailable");
          expect(performance.now() - asked).toBeLessThan(10_000);
        } finally {
          server.resume();
        }
        await eventually(async () => expect(await publisher.publish(event)).toEqual({ outcome: "sent" }), outageMs);
      },
    );
  });
}
