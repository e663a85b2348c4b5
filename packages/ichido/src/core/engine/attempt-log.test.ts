import { describe, expect, it } from "vitest";
import { answer, bed, executionOf, problemIn } from "../../../../../test/support/engine-bed.ts";
import { identityOf } from "../request/scope.ts";
import { profiles } from "../contract/profiles.ts";
import type { Key } from "../contract/record.ts";

const named = (key: string) =>
  identityOf({ tenant: "acme", principal: "alice" }, "payment.create", key as Key, profiles.ietf);

const batches = (calls: readonly string[]): number => calls.filter((verb) => verb === "log").length;

describe("the attempt log", () => {
  it("writes who asked, what they got, by which process and release, after the requests", async () => {
    const askedBy = (): string => "app 1.2";
    const all = bed({ release: "v7", processName: "api-3", attemptLog: { askedBy } });
    await all.serve();
    await all.ask();
    await all.ask({ body: { amount: 7 } });
    expect(batches(all.store.calls)).toBe(0);
    await all.clock.advance(1_000);
    expect(batches(all.store.calls)).toBe(1);
    const attempts = await all.store.attempts(named("key-1"));
    const where = { process: "api-3", release: "v7", askedBy: "app 1.2" };
    expect(attempts).toMatchObject([
      { outcome: "executed", status: 201, attempt: 1, number: 1, ...where },
      { outcome: "replayed", status: 201, number: 2, ...where },
      { outcome: "key_reused", status: 422, number: 3, ...where },
    ]);
    expect(attempts[0]?.fence).toBeGreaterThan(0);
    expect(all.events).toContainEqual({ type: "attempts-logged", written: 3, dropped: 0, queued: 0 });
  });

  it("names its process by itself, the same for all of its life", async () => {
    const all = bed();
    await all.serve();
    await all.clock.advance(1_000);
    await all.ask();
    await all.clock.advance(1_000);
    const processes = (await all.store.attempts(named("key-1"))).map(({ process }) => process);
    expect(processes).toHaveLength(2);
    expect(processes[0]).toMatch(/:[0-9a-f]{6}$/);
    expect(processes[1]).toBe(processes[0]);
  });

  it("writes nothing, and sets no timer, where it is switched off", async () => {
    const all = bed({ attemptLog: false });
    await all.serve();
    await all.clock.advance(60_000);
    expect(batches(all.store.calls)).toBe(0);
  });

  it("delays no request and fails none while the store does not take it, and keeps what fits for the next time", async () => {
    const all = bed({ attemptLog: { queueMax: 2 } });
    all.store.break("log", "fail");
    await all.serve();
    await all.ask();
    await all.ask();
    await all.clock.advance(1_000);
    expect(all.events).toContainEqual({ type: "attempts-logged", written: 0, dropped: 1, queued: 2 });
    all.store.mend();
    await all.clock.advance(1_000);
    expect(all.events).toContainEqual({ type: "attempts-logged", written: 2, dropped: 0, queued: 0 });
    const [first, second] = await all.store.attempts(named("key-1"));
    expect([first?.outcome, second?.outcome]).toEqual(["executed", "replayed"]);
    const { atMs = 0 } = first ?? {};
    expect(all.clock.nowMs() - atMs).toBe(2_000);
  });

  it("writes the last ones when it is closed, and tells of those that the store did not take", async () => {
    const all = bed();
    await all.serve();
    await all.ichido.close();
    expect((await all.store.attempts(named("key-1"))).map(({ outcome }) => outcome)).toEqual(["executed"]);

    const down = bed();
    await down.serve();
    down.store.break("log", "fail");
    await down.ichido.close();
    expect(down.events).toContainEqual({ type: "attempts-logged", written: 0, dropped: 1, queued: 0 });
  });

  it("tells two keys for one intent, and stops neither", async () => {
    const all = bed();
    await all.serve({ key: "key-1" });
    await all.clock.advance(41_800);
    await all.serve({ key: "key-2" });
    await all.serve({ key: "key-3", caller: { tenant: "acme", user: "bob" } });
    await all.serve({ key: "key-4", body: { amount: 7 } });
    await all.clock.advance(1_000);
    const told = all.events.filter((event) => event.type === "suspected-duplicate");
    expect(told).toHaveLength(1);
    expect(told[0]).toMatchObject({ operation: "payment.create", apartMs: 41_800 });
    const [pair] = await all.store.twins(named("key-2"));
    expect([pair?.first.key, pair?.second.key]).toEqual(["key-1", "key-2"]);
    expect(all.outcomes()).toEqual(["executed", "executed", "executed", "executed"]);
  });

  it("ichido.run is logged too", async () => {
    const all = bed();
    const request = {
      operation: "payment.create",
      scope: { tenant: "acme", principal: "alice" },
      key: "key-1",
      input: 1,
    };
    await all.ichido.run(request, () => 1);
    await all.ichido.run(request, () => 1);
    await all.clock.advance(1_000);
    expect((await all.store.attempts(named("key-1"))).map(({ outcome }) => outcome)).toEqual(["executed", "replayed"]);
  });
});

describe("what an operation made", () => {
  it("is kept with the answer, with a step and with an open outcome, without a round trip of its own", async () => {
    const all = bed();
    const execution = executionOf(await all.ask());
    execution.context.resource("payment", "pay_7");
    expect(await all.store.resources(named("key-1"))).toEqual([]);
    await execution.context.step("bank.charge", async () => {
      expect(await all.store.resources(named("key-1"))).toEqual([{ kind: "payment", id: "pay_7" }]);
    });
    execution.context.resource("order", 31);
    await answer(execution);
    const made = [
      { kind: "payment", id: "pay_7" },
      { kind: "order", id: "31" },
    ];
    expect(await all.store.resources(named("key-1"))).toEqual(made);
    expect(all.store.calls.filter((verb) => ["complete", "startStep", "finishStep"].includes(verb))).toHaveLength(3);
    const { records } = await all.store.list({ resource: { kind: "order", id: "31" }, limit: 10 });
    expect(records.map(({ identity }) => identity.key)).toEqual(["key-1"]);
  });

  it("is told to the same caller with a 409 and a 422, and nothing else of the record is", async () => {
    const all = bed({ onUnknown: "hold" });
    const execution = executionOf(await all.ask());
    execution.context.resource("payment", "pay_7");
    await execution.context.step("bank.charge", () => ({ secret: "ch_1" }));
    const resources = [{ kind: "payment", id: "pay_7" }];
    expect(problemIn(await all.ask())).toMatchObject({ code: "idempotency-in-flight", resources });
    expect(problemIn(await all.ask({ body: { amount: 7 } }))).toMatchObject({
      code: "idempotency-key-reused",
      resources,
    });
    await execution.context.unknown({ status: 202, body: { state: "pending" } });
    const open = problemIn(await all.ask());
    expect(open).toMatchObject({ code: "outcome-unknown", resources });
    expect(JSON.stringify(open)).not.toMatch(/ch_1|pending/);
    const stranger = await all.ask({ caller: { tenant: "acme", user: "bob" } });
    expect(stranger.kind).toBe("execute");
  });

  it("is told with an answer that was too large to keep", async () => {
    const all = bed({ bodyBytesMax: 2 });
    const execution = executionOf(await all.ask());
    execution.context.resource("payment", "pay_7");
    await answer(execution);
    const resources = [{ kind: "payment", id: "pay_7" }];
    expect(problemIn(await all.ask())).toMatchObject({ code: "response-not-stored", resources });
  });

  it("is not told to those who share all keys and sent other content: they may be strangers", async () => {
    const all = bed({ scope: undefined, dangerouslyShareKeys: true } as never);
    const execution = executionOf(await all.ask());
    execution.context.resource("payment", "pay_7");
    await answer(execution);
    expect(problemIn(await all.ask({ body: { amount: 7 } }))).not.toHaveProperty("resources");
  });

  it("goes with an outcome that the store takes late", async () => {
    const all = bed();
    const execution = executionOf(await all.ask());
    execution.context.resource("payment", "pay_7");
    all.store.break("complete", "fail", 1);
    await answer(execution);
    await all.clock.advance(5_000);
    expect(await all.store.resources(named("key-1"))).toEqual([{ kind: "payment", id: "pay_7" }]);
  });

  it.each([
    ["", "7"],
    ["payment", ""],
    ["payment", "x".repeat(256)],
    ["k".repeat(65), "7"],
    ["payment", 1.5],
    ["payment", undefined],
  ])("refuses %j, %j", async (kind, id) => {
    const all = bed();
    const { context } = executionOf(await all.ask());
    expect(() => context.resource(kind, id as string)).toThrow(/ctx\.resource/);
  });
});
