import { describe, expect, it } from "vitest";
import { answer, bed, executionOf } from "../../../../../test/support/engine-bed.ts";

describe("an attempt that is over", () => {
  it("goes from this process with an answer that fails after executionMs", async () => {
    const all = bed({ leaseMs: 1_000, executionMs: 3_000 });
    const first = executionOf(await all.ask());
    for (const verb of ["renew", "complete"] as const) all.store.break(verb, "fail");
    await all.clock.advance(4_000);
    await answer(first);
    expect((await all.ichido.health()).running).toBe(0);
    all.store.mend();
    const calls = all.store.calls.length;
    expect((await all.ask()).kind).toBe("execute");
    expect(all.store.calls.slice(calls)).not.toContain("complete");
  });
});
