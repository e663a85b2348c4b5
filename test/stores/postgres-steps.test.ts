import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { postgresUrl } from "../support/services.ts";
import { grant, openLife, request } from "./postgres-life.ts";
import type { Life } from "./postgres-life.ts";

const serverUrl = await postgresUrl();
const result = new TextEncoder().encode('"ch_1"');

describe("postgres, steps", () => {
  let life: Life;
  beforeAll(async () => {
    life = await openLife(serverUrl);
  });
  afterAll(() => life.end());

  it.each(["startStep", "finishStep"] as const)(
    "S5 %s under a record that is being taken over waits for the takeover and is stale",
    async (verb) => {
      const claim = await grant(life.store, request(`overtaken-${verb}`, "a"));
      expect(await life.store.startStep({ ...claim, name: "charge", leaseMs: 30_000 })).toBe("ok");
      const taker = await life.newPool({ max: 1 }).connect();
      await taker.query("begin");
      await taker.query("update ichido_records set owner = gen_random_uuid(), fence = fence + 1 where key = $1", [
        claim.identity.key,
      ]);
      let answer: string | undefined;
      const name = verb === "startStep" ? "refund" : "charge";
      const pending = life.store[verb]({ ...claim, name, leaseMs: 30_000, result }).then((each) => (answer = each));
      await waitingSession(life);
      expect(answer).toBeUndefined();
      await taker.query("commit");
      taker.release();
      expect(await pending).toBe("stale");
      const steps = await life.store.steps(claim.identity);
      expect(steps.map((step) => [step.name, step.state])).toEqual([["charge", "started"]]);
    },
  );

  it("S15 after the first step of a life, steps leave the record unwritten while most of its lease is left", async () => {
    const claim = await grant(life.store, request("unwritten", "a"));
    const version = (): Promise<string> =>
      life.ask<string>("select xmin || ' ' || ctid from ichido_records where key = 'unwritten'");
    await life.store.startStep({ ...claim, name: "one", leaseMs: 30_000 });
    const written = await version();
    await life.store.finishStep({ ...claim, name: "one", leaseMs: 30_000, result });
    await life.store.startStep({ ...claim, name: "two", leaseMs: 30_000 });
    expect(await version()).toBe(written);
    expect((await life.store.find(claim.identity))?.stepsStarted).toBe(2);
    await life.ask(
      "update ichido_records set lease_until = now() + interval '10 s' where key = 'unwritten' returning 1",
    );
    await life.store.finishStep({ ...claim, name: "two", leaseMs: 30_000, result });
    expect((await life.store.find(claim.identity))?.leaseLeftMs).toBeGreaterThan(20_000);
  });
});

async function waitingSession(life: Life): Promise<void> {
  for (let look = 0; look < 200; look += 1) {
    const waiting = await life.ask<number>(
      "select count(*)::int from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    );
    if (waiting > 0) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("nobody waits for the row");
}
