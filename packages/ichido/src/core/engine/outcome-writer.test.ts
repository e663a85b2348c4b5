import { describe, expect, it } from "vitest";
import { answer, bed, copying, executionOf, problemIn, type Bed } from "../../../../../test/support/engine-bed.ts";
import { IchidoError } from "../contract/errors.ts";
import type { Store } from "../contract/store.ts";
import { memoryStore } from "../../stores/memory/index.ts";
import type { FakeClock } from "../../testing/clock.ts";

const tooLarge = new IchidoError("value-not-serialisable", "too large for this server");

/** Of each try to complete in turn, what becomes of it; those after them go through. `full`: such as have a body. */
type Try = "down" | "too large" | "full too large";

/** With a store that refuses completions as it is told. */
function refusing(tries: Try[], options = {}): Bed & { completions(): number } {
  let completions = 0;
  const base = ({ nowMs, environment }: FakeClock): Store => {
    const store = memoryStore({ nowMs, environment });
    const complete: Store["complete"] = async (request) => {
      completions += 1;
      const what = tries.shift();
      if (what === "down") throw new Error("down");
      if (what === "too large" || (what === "full too large" && request.response.kind === "full")) throw tooLarge;
      return store.complete(request);
    };
    return { ...store, complete };
  };
  return { ...bed(options, base), completions: () => completions };
}

const warningsIn = ({ events }: Bed): string[] =>
  events.filter((event) => event.type === "warning").map(({ code }) => code);

describe("an answer that the store can never take", () => {
  it("A27 is kept without its body at once, also where that shows only while it waits for the store", async () => {
    const all = refusing(["down", "down", "full too large"]);
    await answer(executionOf(await all.ask()));
    await all.clock.advance(50);
    expect(all.completions(), "a store that is away is not asked twice at a time").toBe(2);
    await all.clock.advance(100);
    expect(all.completions()).toBe(4);
    expect(warningsIn(all).at(-1)).toBe("answer-too-large");
    expect(problemIn(await all.ask())).toMatchObject({ code: "response-not-stored", originalStatus: 201 });
  });

  it("A27 is told of once, however often the store refuses what is left of it", async () => {
    const all = refusing(Array.from({ length: 5 }, () => "too large"));
    await answer(executionOf(await all.ask()));
    await all.clock.advance(5_000);
    expect(all.completions()).toBe(6);
    expect(warningsIn(all).filter((code) => code === "answer-too-large")).toHaveLength(1);
    expect(problemIn(await all.ask())).toMatchObject({ code: "response-not-stored" });
  });

  it("is not told of where a stream has left no body to leave away", async () => {
    const all = refusing(["too large"]);
    await executionOf(await all.ask()).beginStream({ status: 200, headers: [] });
    await all.clock.advance(1_000);
    expect(warningsIn(all)).not.toContain("answer-too-large");
    expect(problemIn(await all.ask())).toMatchObject({ code: "response-not-stored" });
  });
});

describe("an attempt that is over", () => {
  it("does not try again what it said after that", async () => {
    const all = bed({ onUnknown: "hold" });
    const { context } = executionOf(await all.ask());
    await context.unknown({ status: 202 });
    all.store.break("suspend", "fail");
    await context.unknown({ status: 202 });
    const calls = all.store.calls.length;
    await all.clock.advance(10_000);
    expect(all.store.calls.slice(calls)).not.toContain("suspend");
  });

  it("gives back what a copy of its claim takes after its last word, also where the store took that late", async () => {
    const { make, copies } = copying();
    const all = bed({ leaseMs: 60_000 }, make);
    const first = executionOf(await all.ask());
    all.store.break("release", "fail", 1);
    await answer(first, { status: 429 });
    await all.clock.advance(60);
    await copies[0]?.();
    const stateOf = async () => (await all.store.list({ limit: 1 })).records[0]?.state;
    expect(await stateOf()).toBe("processing");
    await all.clock.advance(30_000);
    expect(await stateOf()).toBe("failed");
  });

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
