import { describe, expect, it } from "vitest";
import {
  answer,
  bed,
  executionOf,
  lapse,
  problemIn,
  slowBeds,
  type Bed,
} from "../../../../../test/support/engine-bed.ts";
import { memoryStore } from "../../stores/memory/index.ts";

describe("two grants of one process, told in another order than they were made", () => {
  const leaseMs = 1_000;

  /** The first claim is granted, its word is late, its lease runs out, and the second one is granted and at work. */
  async function crossed(all: Bed, route = {}) {
    all.store.break("claim", "late", 1);
    const first = all.ask({ route });
    await all.clock.advance(leaseMs + 500);
    const second = executionOf(await all.ask({ route }));
    all.store.arrive();
    await all.clock.advance(10);
    return { first: await first, second };
  }

  it("S5 the older one does not run, though its lease has not run out here: the store's clock leapt", async () => {
    let aheadMs = 0;
    const all = bed({}, ({ nowMs, environment }) => memoryStore({ nowMs: () => nowMs() + aheadMs, environment }));
    all.store.break("claim", "late", 1);
    const first = all.ask();
    await all.clock.advance(1_000);
    aheadMs = 40_000;
    const second = executionOf(await all.ask());
    expect(second.context.attempt).toBe(2);
    all.store.arrive();
    await all.clock.advance(10);
    expect(problemIn(await first)).toMatchObject({ code: "idempotency-in-flight" });
  });

  it("S5 the older one does not hide the answer of the later one, which is on its way", async () => {
    const { all, arrive } = await slowBeds({ leaseMs });
    const { first, second } = await crossed(all);
    expect(problemIn(first)).toMatchObject({ code: "idempotency-in-flight" });
    expect((await all.ichido.health()).running).toBe(1);
    await lapse(all, leaseMs);
    const settled = answer(second);
    const third = all.ask();
    await all.clock.advance(10);
    arrive();
    await all.clock.advance(10);
    expect(await settled).toEqual({ kind: "send", addHeaders: [] });
    expect((await third).kind).toBe("replay");
  });

  it("nothing runs without the store beside the later one", async () => {
    const route = { dangerouslyRunWithoutStore: true };
    const all = bed({ leaseMs });
    const { first, second } = await crossed(all, route);
    expect(problemIn(first)).toMatchObject({ code: "idempotency-in-flight" });
    all.store.break("claim", "fail");
    expect((await all.ask({ route })).kind).toBe("reject");
    expect(second.context.signal.aborted).toBe(false);
  });
});
