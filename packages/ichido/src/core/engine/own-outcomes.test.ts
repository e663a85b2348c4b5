import { describe, expect, it } from "vitest";
import {
  answer,
  bed,
  executionOf,
  lapse,
  problemIn,
  responseOf,
  textOf,
  type Bed,
} from "../../../../../test/support/engine-bed.ts";
import type { Execution } from "../contract/decision.ts";
import type { Store } from "../contract/store.ts";
import { memoryStore } from "../../stores/memory/index.ts";
import { createReconciler } from "./reconciler.ts";
import { settle } from "./settlement.ts";

const leaseMs = 1_000;

/** An attempt whose lease is over for the store, while its handler goes on. */
async function lapsed(all: Bed): Promise<Execution> {
  const execution = executionOf(await all.ask());
  await lapse(all, leaseMs);
  return execution;
}

/** Its answer waits for the store, which is back now, and for which the lease is over. */
async function waitingAnswer(all: Bed): Promise<void> {
  const execution = executionOf(await all.ask());
  for (const verb of ["claim", "renew", "complete", "find"] as const) all.store.break(verb, "fail");
  await answer(execution);
  await all.clock.advance(5_000);
  all.store.mend();
}

const stored = async (all: Bed): Promise<string> => textOf(responseOf(await all.ask()));

describe("what a process has to say of a record", () => {
  it.each(["complete", "release"] as const)(
    "S5 goes before a duplicate in it, while it is on its way: %s",
    async (verb) => {
      const way = Promise.withResolvers<void>();
      const slow = (store: Store): Store => ({
        ...store,
        complete: async (...given) => way.promise.then(() => store.complete(...given)),
        release: async (...given) => way.promise.then(() => store.release(...given)),
      });
      const all = bed({ leaseMs }, ({ nowMs, environment }) => slow(memoryStore({ nowMs, environment })));
      const first = await lapsed(all);
      const settled = answer(first, verb === "complete" ? {} : { status: 429 });
      const asked = all.ask();
      await all.clock.advance(10);
      way.resolve();
      expect(await settled).toEqual({ kind: "send", addHeaders: [] });
      const decision = await asked;
      if (verb === "complete") expect(textOf(responseOf(decision))).toBe('{"id":1}');
      else expect(executionOf(decision).context.attempt).toBe(2);
      expect(all.events.filter(({ type }) => type === "fence-rejected")).toEqual([]);
    },
  );

  it("A18 stays, where an attempt that it has overtaken ends after it, in the same outage", async () => {
    const all = bed({ leaseMs });
    const zombie = await lapsed(all);
    const second = executionOf(await all.ask());
    for (const verb of ["claim", "renew", "complete", "find"] as const) all.store.break(verb, "fail");
    const body = new TextEncoder().encode('{"id":2}');
    await answer(second, { body });
    await answer(zombie);
    all.store.mend();
    await all.clock.advance(5_000);
    expect(await stored(all)).toBe('{"id":2}');
    expect(all.events.filter(({ type }) => type === "fence-rejected")).toHaveLength(1);
    expect((await all.ichido.health()).running).toBe(0);
  });

  it("A18 goes before a reconciler in it asks what became of the record", async () => {
    const all = bed({ leaseMs, onUnknown: "hold" });
    await waitingAnswer(all);
    let asked = 0;
    const verify = (): { verdict: "absent" } => {
      asked += 1;
      return { verdict: "absent" };
    };
    const operations = { "payment.create": { verify } };
    const options = { operations, olderThanMs: 0, everyMs: 1_000, environment: all.clock.environment };
    await createReconciler(all.ichido, options).tick();
    expect(asked).toBe(0);
    expect(await stored(all)).toBe('{"id":1}');
  });

  it("A18 goes before a person's decision by its engine, who is told that there is an answer", async () => {
    const all = bed({ leaseMs, onUnknown: "hold" });
    await waitingAnswer(all);
    const [record] = (await all.store.list({ limit: 1 })).records;
    if (record === undefined) throw new Error("there is a record");
    const settlement = { record, decision: { kind: "release" }, actor: "ann", reason: "nothing was charged" } as const;
    expect(await settle(all.ichido, settlement)).toBe("completed");
    expect(await stored(all)).toBe('{"id":1}');
  });

  it.each(["close", "drain"] as const)(
    "S5 is not overtaken by the hand-over of closing, on its way: %s",
    async (how) => {
      const way = Promise.withResolvers<void>();
      let shared: Store | undefined;
      const all = bed({ leaseMs: 30_000, closeMs: 1_000 }, ({ nowMs, environment }) => {
        const store = memoryStore({ nowMs, environment });
        shared = store;
        return { ...store, complete: async (...given) => way.promise.then(() => store.complete(...given)) };
      });
      const elsewhere = bed({ leaseMs: 30_000 }, () => shared ?? expect.unreachable());
      // Else both would make the same owners.
      await elsewhere.clock.advance(50);
      const first = executionOf(await all.ask());
      const closing = how === "drain" ? all.ichido.drain({ deadlineMs: 1_000 }) : all.ichido.close();
      await all.clock.advance(700);
      const settled = answer(first);
      await all.clock.advance(1_000);
      expect(problemIn(await elsewhere.ask())).toMatchObject({ code: "idempotency-in-flight" });
      way.resolve();
      await all.clock.advance(1_000);
      await Promise.all([closing, settled]);
      expect(await stored(elsewhere)).toBe('{"id":1}');
    },
  );

  it("A18 goes before a person's decision, which waits where the store does not take it just now", async () => {
    const all = bed({ leaseMs, onUnknown: "hold" });
    await waitingAnswer(all);
    all.store.break("complete", "fail", 1);
    const [record] = (await all.store.list({ limit: 1 })).records;
    if (record === undefined) throw new Error("there is a record");
    const settlement = { record, actor: "ann", reason: "nothing was charged" } as const;
    expect(await settle(all.ichido, { ...settlement, decision: { kind: "release" } })).toBe("live");
    await all.clock.advance(5_000);
    expect(await stored(all)).toBe('{"id":1}');
  });

  it("a duplicate waits for it for no longer than for one call", async () => {
    const all = bed({ leaseMs: 60_000, storeTimeoutMs: 5_000 });
    const first = executionOf(await all.ask());
    all.store.break("complete", "hang");
    void answer(first);
    await all.clock.advance(1);
    let decision: unknown;
    void all.ask().then((made) => (decision = made));
    await all.clock.advance(5_100);
    expect(decision).toMatchObject({ kind: "reject" });
  });

  it("an attempt that is known to be overtaken does not give its answer as its own", async () => {
    const all = bed({ leaseMs });
    const zombie = await lapsed(all);
    const second = executionOf(await all.ask());
    for (const verb of ["claim", "renew", "complete", "find"] as const) all.store.break(verb, "fail");
    await answer(second, { body: new TextEncoder().encode('{"id":2}') });
    expect((await answer(zombie)).kind).toBe("replace");
  });

  it("of an attempt that ends after closing nothing is tried again, and a drain tells that it ran", async () => {
    const all = bed({ leaseMs, closeMs: 1_000 });
    const zombie = await lapsed(all);
    await answer(executionOf(await all.ask()));
    const draining = all.ichido.drain({ deadlineMs: 1_000 });
    await all.clock.advance(2_000);
    expect((await draining).handlers).toHaveLength(1);
    for (const verb of ["claim", "renew", "complete", "find", "release", "suspend"] as const) {
      all.store.break(verb, "fail");
    }
    await answer(zombie);
    const calls = all.store.calls.length;
    await all.clock.advance(60_000);
    expect(all.store.calls.slice(calls)).toEqual([]);
  });

  it("closing is over in its own time where the store hangs", async () => {
    const all = bed({ closeMs: 1_000, storeTimeoutMs: 60_000 });
    executionOf(await all.ask());
    all.store.break("suspend", "hang");
    let isOver = false;
    void all.ichido.close().then(() => (isOver = true));
    await all.clock.advance(3_100);
    expect(isOver).toBe(true);
  });
});
