/** The first end of an attempt is its only one, and nothing of its process takes it back. */
import { describe, expect, it } from "vitest";
import {
  answer,
  bed,
  executionOf,
  lapse,
  problemIn,
  responseOf,
  slowBeds,
  textOf,
  type Bed,
} from "../../../../../test/support/engine-bed.ts";
import type { Execution } from "../contract/decision.ts";
import type { Store } from "../contract/store.ts";
import { sentAgain } from "../record-machine/claim.ts";

/** As by a driver that sent it again: a copy may be under way. */
const claimedTwice = (store: Store): Partial<Store> => ({
  claim: async (...given) => sentAgain(await store.claim(...given)),
});

async function outage(all: Bed, during: () => Promise<unknown>): Promise<void> {
  for (const verb of ["complete", "suspend", "renew", "find"] as const) all.store.break(verb, "fail");
  await during();
  all.store.mend();
  await all.clock.advance(5_000);
}

/** A second attempt, one of whose branches still asks about a step that the first has left open. */
async function withOpenBranch(all: Bed) {
  const first = executionOf(await all.ask());
  const failure = new Error("no answer");
  await first.context.step("email", () => Promise.reject(failure)).catch(() => undefined);
  await first.settle({ kind: "threw", error: failure });
  const second = executionOf(await all.ask());
  const asked = Promise.withResolvers<{ readonly verdict: "not-visible-yet" }>();
  const branch = second.context.step("email", { verify: () => asked.promise }, () => 1).catch(() => undefined);
  await all.clock.advance(1);
  const leaveOpen = async (): Promise<void> => {
    asked.resolve({ verdict: "not-visible-yet" });
    await all.clock.advance(100);
    await branch;
  };
  return { second, leaveOpen };
}

describe("an answer on its way", () => {
  it.each(["close", "drain"] as const)("S5 keeps its lease where the store was not heard in time: %s", async (how) => {
    const { all, elsewhere, arrive } = await slowBeds({ leaseMs: 30_000, closeMs: 1_000 });
    const first = executionOf(await all.ask());
    const closing = how === "drain" ? all.ichido.drain({ deadlineMs: 1_000 }) : all.ichido.close();
    await all.clock.advance(700);
    const settled = answer(first);
    await all.clock.advance(4_000);
    await closing;
    // The call is given up, and may still arrive.
    await all.clock.advance(1_500);
    expect(await settled).toEqual({ kind: "send", addHeaders: [["idempotency-stored", "false"]] });
    expect(problemIn(await elsewhere.ask())).toMatchObject({ code: "idempotency-in-flight" });
    arrive();
    await all.clock.advance(10);
    expect((await elsewhere.ask()).kind).toBe("replay");
  });

  it("S5 is not overtaken by a branch whose step is left open", async () => {
    const { all, elsewhere, arrive } = await slowBeds({});
    const { second, leaveOpen } = await withOpenBranch(all);
    const settled = answer(second);
    await leaveOpen();
    expect(problemIn(await elsewhere.ask())).toMatchObject({ code: "idempotency-in-flight" });
    arrive();
    expect(await settled).toEqual({ kind: "send", addHeaders: [] });
  });

  it("S5 is not overtaken by the look for a copy of its claim, where executionMs is over", async () => {
    const { all, elsewhere, arrive } = await slowBeds({ leaseMs: 60_000, executionMs: 2_000 }, claimedTwice);
    const first = executionOf(await all.ask());
    await all.clock.advance(19_900);
    const settled = answer(first);
    await all.clock.advance(1_000);
    expect(problemIn(await elsewhere.ask())).toMatchObject({ code: "idempotency-in-flight" });
    arrive();
    await all.clock.advance(10);
    await settled;
    expect((await elsewhere.ask()).kind).toBe("replay");
  });

  it("S5 nor by that look where the store was not heard in time, and may still hear of it", async () => {
    const { all, elsewhere, arrive } = await slowBeds({ leaseMs: 60_000, executionMs: 2_000 }, claimedTwice);
    const first = executionOf(await all.ask());
    await all.clock.advance(19_900);
    const settled = answer(first);
    await all.clock.advance(6_000);
    await settled;
    expect(problemIn(await elsewhere.ask())).toMatchObject({ code: "idempotency-in-flight" });
    arrive();
    await all.clock.advance(10);
    expect((await elsewhere.ask()).kind).toBe("replay");
  });

  it("I17 is tried again though a branch, refused a step before it, is told of that after it", async () => {
    const leaseMs = 1_000;
    const all = bed({ leaseMs });
    const first = executionOf(await all.ask());
    await lapse(all, leaseMs);
    all.store.break("find", "late", 1);
    const branch = first.context.step("email", () => 1).catch((error: Error) => error.name);
    await all.clock.advance(1);
    all.store.break("complete", "hang", 1);
    const settled = answer(first);
    await all.clock.advance(1);
    all.store.arrive();
    await all.clock.advance(10_010);
    expect(await branch).toBe("FenceLost");
    expect(await settled).toEqual({ kind: "send", addHeaders: [["idempotency-stored", "false"]] });
    expect((await all.ask()).kind).toBe("replay");
  });

  it("I17 is tried again though a branch was refused a step", async () => {
    const leaseMs = 1_000;
    const all = bed({ leaseMs });
    const first = executionOf(await all.ask());
    await lapse(all, leaseMs);
    all.store.break("complete", "hang", 1);
    const settled = answer(first);
    const branch = first.context.step("email", () => 1).catch((error: Error) => error.name);
    await all.clock.advance(10_010);
    expect(await branch).toBe("FenceLost");
    expect(await settled).toEqual({ kind: "send", addHeaders: [["idempotency-stored", "false"]] });
    expect((await all.ask()).kind).toBe("replay");
  });
});

/** A branch that nobody awaits leaves the outcome open, and its word is on its way when the handler answers. */
async function withBranch(all: Bed, how: "ctx.unknown" | "a step") {
  if (how === "ctx.unknown") {
    const execution = executionOf(await all.ask());
    const leave = () => execution.context.unknown({ status: 202, body: {} }).catch(() => undefined);
    return { execution, leave };
  }
  const failure = new Error("no answer");
  const former = executionOf(await all.ask());
  await former.context.step("email", () => Promise.reject(failure)).catch(() => undefined);
  await former.settle({ kind: "threw", error: failure });
  const execution = executionOf(await all.ask());
  const leave = () => execution.context.step("email", { onUnknown: "hold" }, () => 1).catch(() => undefined);
  return { execution, leave };
}

/** Whoever is told 201 finds it again; whoever is told that the outcome is open does not. */
async function expectTrue(all: Bed, settled: ReturnType<typeof answer>): Promise<void> {
  await all.clock.advance(60_000);
  const isTold = (await settled).kind === "send";
  expect((await all.ask()).kind).toBe(isTold ? "replay" : "reject");
}

describe("I3 an answer that comes while an outcome is being left open", () => {
  it.each(["ctx.unknown", "a step"] as const)("is not lost where the store hangs, then refuses: %s", async (how) => {
    const all = bed({});
    const { execution, leave } = await withBranch(all, how);
    all.store.break("suspend", "hang", 1);
    void leave();
    await all.clock.advance(10);
    for (const verb of ["complete", "renew", "find"] as const) all.store.break(verb, "fail");
    const settled = answer(execution);
    await all.clock.advance(6_000);
    all.store.mend();
    await expectTrue(all, settled);
  });

  it.each(["ctx.unknown", "a step"] as const)("is not lost where the store is heard of that late: %s", async (how) => {
    const all = bed({});
    const { execution, leave } = await withBranch(all, how);
    all.store.break("suspend", "late", 1);
    void leave();
    await all.clock.advance(10);
    all.store.break("complete", "hang", 1);
    const settled = answer(execution);
    await all.clock.advance(10);
    all.store.arrive();
    await expectTrue(all, settled);
  });

  it("is not given beside another attempt, to which the key went by it", async () => {
    const { all, elsewhere, arrive } = await slowBeds({}, (store) => ({
      // Takes effect at once; its reply is under way for a while.
      async suspend(...given) {
        const result = await store.suspend(...given);
        await new Promise<void>((resolve) => all.clock.environment.after(1_000, resolve));
        return result;
      },
    }));
    const failure = new Error("no answer");
    const former = executionOf(await all.ask());
    await former.context.step("email", () => Promise.reject(failure)).catch(() => undefined);
    const threw = former.settle({ kind: "threw", error: failure });
    await all.clock.advance(1_100);
    await threw;
    const second = executionOf(await all.ask());
    const verify = (): { verdict: "not-visible-yet" } => ({ verdict: "not-visible-yet" });
    void second.context.step("email", { verify }, () => 1).catch(() => undefined);
    await all.clock.advance(10);
    const settled = answer(second);
    await all.clock.advance(100);
    const third = await elsewhere.ask();
    await all.clock.advance(10_000);
    arrive();
    expect([(await settled).kind, third.kind]).toEqual(["replace", "execute"]);
  });
});

describe("a last word that was written late", () => {
  it("ends no attempt whose caller is not answered yet: closing waits for that", async () => {
    const all = bed({});
    const { leave } = await withBranch(all, "a step");
    all.store.break("suspend", "fail", 1);
    all.store.break("resources", "late", 1);
    const before = all.store.calls.length;
    void leave();
    await all.clock.advance(1_000);
    expect(all.store.calls.slice(before).filter((verb) => verb === "suspend")).toHaveLength(2);
    expect((await all.ichido.health()).running).toBe(1);
    all.store.arrive();
    await all.clock.advance(1);
    expect((await all.ichido.health()).running).toBe(0);
  });
});

describe("an answer that waits for the store", () => {
  it("I3 is not replaced by a branch whose step is left open", async () => {
    const all = bed({});
    const { second, leaveOpen } = await withOpenBranch(all);
    await outage(all, async () => {
      await answer(second);
      await leaveOpen();
    });
    expect((await all.ask()).kind).toBe("replay");
  });

  it("I3 is not replaced by ctx.unknown of a branch, which is told that it comes too late", async () => {
    const all = bed({});
    const first = executionOf(await all.ask());
    await outage(all, async () => {
      await answer(first);
      const made = { status: 202, body: { state: "pending" } };
      await expect(first.context.unknown(made)).rejects.toMatchObject({ code: "usage-invalid" });
    });
    expect(textOf(responseOf(await all.ask()))).toBe('{"id":1}');
  });
});

describe("I7 a branch whose step was noted before its key is given away does not call out", () => {
  const threw = (first: Execution) => first.settle({ kind: "threw", error: new Error("out of stock") });
  it.each([
    ["by a handler that threw", threw],
    ["by a handler that did nothing yet", (first: Execution) => answer(first, { status: 429 })],
    ["by ctx.unknown", (first: Execution) => first.context.unknown({ status: 202, body: {} })],
  ] as const)("%s", async (_how, giveAway) => {
    const all = bed({});
    const first = executionOf(await all.ask());
    let calls = 0;
    all.store.break("startStep", "late", 1);
    const branch = first.context
      .step("email", () => {
        calls += 1;
        return 1;
      })
      .catch((error: Error) => error.name);
    await all.clock.advance(10);
    for (const verb of ["suspend", "release"] as const) all.store.break(verb, "hang", 1);
    const given = giveAway(first);
    await all.clock.advance(10);
    all.store.arrive();
    await all.clock.advance(10);
    expect(calls).toBe(0);
    await all.clock.advance(10_000);
    expect(await branch).toBe("FenceLost");
    await given;
  });
});
