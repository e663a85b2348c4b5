import { describe, expect, it } from "vitest";
import { answer, bed, executionOf, problemIn } from "../../../../../test/support/engine-bed.ts";
import { identityOf, keyHashOf } from "../request/scope.ts";
import type { LogResult } from "../contract/history.ts";
import { IchidoError } from "../contract/errors.ts";
import { profiles } from "../contract/profiles.ts";
import type { Key, OwnerToken } from "../contract/record.ts";
import { fakeClock } from "../../testing/clock.ts";
import { createAttemptLog } from "./attempt-log.ts";

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
    expect(processes[0], "the clock of this bed knows no name of a process").toMatch(/^process:[0-9a-f]{6}$/);
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
    await all.ask({ body: { amount: 7 } });
    await all.clock.advance(1_000);
    expect(all.events).toContainEqual({ type: "attempts-logged", written: 0, dropped: 1, queued: 2 });
    all.store.mend();
    await all.clock.advance(1_000);
    expect(all.events).toContainEqual({ type: "attempts-logged", written: 2, dropped: 0, queued: 0 });
    const [first, second] = await all.store.attempts(named("key-1"));
    expect([first?.outcome, second?.outcome]).toEqual(["executed", "replayed"]);
    expect(all.clock.nowMs() - (second?.atMs ?? 0)).toBe(2_000);
    expect((await all.store.follow({ limit: 10 })).entries.map(({ outcome }) => outcome)).toEqual([
      "executed",
      "replayed",
    ]);
  });

  it("drops a batch that the store can never keep, counts it, and goes on", async () => {
    const all = bed();
    const log = all.store.log.bind(all.store);
    let times = 0;
    all.store.log = (batch) => {
      times += 1;
      if (times > 1) return log(batch);
      return Promise.reject(
        new IchidoError("value-not-serialisable", "it does not fit the server's max_allowed_packet"),
      );
    };
    await all.serve();
    await all.clock.advance(1_000);
    expect(all.events).toContainEqual({ type: "attempts-logged", written: 0, dropped: 1, queued: 0 });
    await all.ask();
    await all.clock.advance(1_000);
    expect(all.events).toContainEqual({ type: "attempts-logged", written: 1, dropped: 0, queued: 0 });
  });

  it("writes a crowd of equal answers to one key once, with how many they were", async () => {
    const all = bed();
    await all.serve();
    for (let turn = 0; turn < 50; turn += 1) {
      await all.ask();
      await all.clock.advance(10);
    }
    await all.ask({ body: { amount: 7 } });
    await all.clock.advance(1_000);
    const [run, replayed, reused, ...rest] = await all.store.attempts(named("key-1"));
    expect(rest).toEqual([]);
    expect([run?.outcome, replayed?.outcome, reused?.outcome]).toEqual(["executed", "replayed", "key_reused"]);
    expect([run?.count, replayed?.count, reused?.count]).toEqual([undefined, 50, undefined]);
    expect((replayed?.lastAtMs ?? 0) - (replayed?.atMs ?? 0)).toBe(490);
    expect(all.events).toContainEqual({ type: "attempts-logged", written: 52, dropped: 0, queued: 0 });
  });

  it("lists no more keys with duplicates in a batch than its bound, leaves room for refusals, and counts the rest", async () => {
    const all = bed();
    const keys = Array.from({ length: 300 }, (_, index) => `key-${index}`);
    for (const key of keys) await all.serve({ key });
    await all.clock.advance(1_000);
    for (const key of keys) await all.ask({ key });
    await all.ask({ key: "key-299", body: { amount: 7 } });
    await all.clock.advance(1_000);
    expect(all.events).toContainEqual({ type: "attempts-logged", written: 151, dropped: 150, queued: 0 });
    expect((await all.store.attempts(named("key-299"))).map(({ outcome }) => outcome)).toEqual([
      "executed",
      "key_reused",
    ]);
  });

  it("tells once of a run that its record tells of, and of every other by a note", async () => {
    const all = bed();
    await all.serve({ key: "kept" });
    await all.serve({ key: "released" }, { status: 429 });
    await all.serve({ key: "released" });
    const observed = bed({ enforce: false });
    await observed.serve({ key: "observed" });
    await all.clock.advance(1_000);
    await observed.clock.advance(1_000);
    const seen = async (of: typeof all, key: string) =>
      (await of.store.attempts(named(key))).map(({ number, attempt, status }) => [number > 0, attempt, status]);
    expect(await seen(all, "kept")).toEqual([[false, 1, 201]]);
    expect(await seen(all, "released")).toEqual([
      [true, 1, 429],
      [true, 2, 201],
    ]);
    expect(await seen(observed, "observed")).toEqual([[true, 1, 201]]);
  });

  it("lets a storm of one content under new keys show a few pairs, and counts all of them", async () => {
    const all = bed();
    for (let key = 0; key < 20; key += 1) await all.serve({ key: `key-${key}` });
    await all.clock.advance(1_000);
    const told = all.events.filter((event) => event.type === "suspected-duplicate");
    expect(told).toHaveLength(3);
    expect(told.map(({ more }) => more)).toEqual([undefined, undefined, 16]);
  });

  it("writes the last ones when it is closed, and tells of those that the store did not take", async () => {
    const all = bed();
    await all.serve();
    await all.ichido.close();
    expect((await all.store.follow({ limit: 10 })).entries.map(({ outcome }) => outcome)).toEqual(["executed"]);

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
    expect(told[0]).toStrictEqual({
      type: "suspected-duplicate",
      operation: "payment.create",
      keyHash: keyHashOf(named("key-2")),
      firstKeyHash: keyHashOf(named("key-1")),
      apartMs: 41_800,
    });
    const [pair] = await all.store.twins(named("key-2"));
    expect([pair?.first.key, pair?.second.key]).toEqual(["key-1", "key-2"]);
    expect(all.outcomes()).toEqual(["executed", "executed", "executed", "executed"]);
  });

  it("writes a page that is full at once, and the next one when that is written", async () => {
    const clock = fakeClock();
    const written = Array.from({ length: 3 }, () => Promise.withResolvers<LogResult>());
    const counts: (number | undefined)[] = [];
    const log = createAttemptLog({
      calls: {
        log: ({ runs }) => {
          counts.push(runs?.count);
          return written[counts.length - 1]?.promise ?? expect.fail();
        },
      },
      environment: clock.environment,
      emit: () => undefined,
      settings: { processName: "api", release: undefined, flushMs: 1_000, queueMax: 100_000, suspectWithinMs: 0 },
    });
    const grant = { origin: "new", attempt: 1, fence: 1, canonical: new Uint8Array(32) } as const;
    const ran = { grant, owner: "0".repeat(32) as OwnerToken, isKept: true };
    const route = { enforce: true, retentionMs: 1_000 };
    const fill = (): number => {
      const before = counts.length;
      for (let count = 1; count < 5_000; count += 1) {
        log.add({ identity: named(`key-${count}`), startedMs: 0, route }, "executed", 201, ran);
        if (counts.length > before) return count;
      }
      return 0;
    };
    const first = fill();
    expect(first).toBeGreaterThan(1_000);
    expect(counts).toEqual([first]);
    expect(fill(), "one at a time").toBe(0);
    await clock.advance(10_000);
    expect(counts).toEqual([first]);
    written[0]?.resolve({ pairs: [], more: 0 });
    await clock.advance(999);
    expect(counts, "what came meanwhile waits for the next time").toEqual([first]);
    await clock.advance(1);
    expect(counts).toEqual([first, 4_999]);
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
