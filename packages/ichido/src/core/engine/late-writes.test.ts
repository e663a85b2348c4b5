import { describe, expect, it } from "vitest";
import {
  answer,
  bed,
  executionOf,
  headerIn,
  problemIn,
  responseOf,
  textOf,
  type Bed,
} from "../../../../../test/support/engine-bed.ts";
import { limits } from "../contract/defaults.ts";
import type { Execution } from "../contract/decision.ts";
import type { Environment } from "../contract/environment.ts";
import { createLateWrites, type LateOutcome } from "./late-writes.ts";
import { fakeClock } from "../../testing/clock.ts";

/** Nothing of the store answers, as during a failover. */
function goAway({ store }: Bed): void {
  for (const verb of ["claim", "renew", "complete", "release", "suspend", "find"] as const) store.break(verb, "fail");
}

/** The store is away for longer than a lease, from the moment that an attempt ends. */
async function outage(all: Bed, end: (execution: Execution) => Promise<unknown>): Promise<void> {
  const execution = executionOf(await all.ask());
  goAway(all);
  await end(execution);
  await all.clock.advance(5_000);
  all.store.mend();
}

describe("an outcome that the store could not take", () => {
  it("A18 is written after an outage of several leases, where nobody took the record", async () => {
    const all = bed({ leaseMs: 1_000 });
    await outage(all, async (first) => {
      const settled = await answer(first);
      expect(settled).toEqual({ kind: "send", addHeaders: [["idempotency-stored", "false"]] });
    });
    await all.clock.advance(3_000);
    expect(textOf(responseOf(await all.ask()))).toBe('{"id":1}');
    expect((await all.ichido.health()).running).toBe(0);
  });

  it("F-01 a duplicate and another request, which both wait until it is written, get no common answer", async () => {
    const all = bed({ leaseMs: 1_000, inFlight: { waitMs: 10_000 } });
    const first = executionOf(await all.ask());
    goAway(all);
    await answer(first);
    const duplicate = all.ask();
    const other = all.ask({ body: '{"amount":2}' });
    await all.clock.advance(2_000);
    all.store.mend();
    await all.clock.advance(9_000);
    expect(textOf(responseOf(await duplicate))).toBe('{"id":1}');
    expect(problemIn(await other)).toMatchObject({ code: "idempotency-key-reused" });
  });

  it("waiters of several contents count as waiters of one key", async () => {
    const all = bed({ leaseMs: 1_000, inFlight: { waitMs: 10_000 } });
    const first = executionOf(await all.ask());
    goAway(all);
    await answer(first);
    const many = Array.from({ length: limits.waitersPerKeyMax }, (_, at) => all.ask({ body: `{"amount":${at % 3}}` }));
    await all.clock.advance(1);
    const tooMany = Array.from({ length: 3 }, (_, at) => all.ask({ body: `{"amount":${at + 1}}` }));
    await all.clock.advance(1);
    expect(await all.ichido.health()).toMatchObject({ waiting: limits.waitersPerKeyMax });
    for (const each of tooMany) expect(problemIn(await each)).toMatchObject({ code: "idempotency-in-flight" });
    all.store.mend();
    await all.clock.advance(20_000);
    await Promise.all(many);
  });

  it("A18 an interim answer too: what the handler called open does not run again under rerun", async () => {
    const all = bed({ leaseMs: 1_000 });
    await outage(all, (first) => first.context.unknown({ status: 202, body: { status: "unknown" } }));
    await all.clock.advance(3_000);
    expect(problemIn(await all.ask())).toMatchObject({ code: "outcome-unknown" });
  });

  it("A18 a release and a hold too", async () => {
    const released = bed({ leaseMs: 1_000, onUnknown: "hold" });
    await outage(released, (first) => answer(first, { status: 429 }));
    await released.clock.advance(3_000);
    expect(executionOf(await released.ask()).context.attempt).toBe(2);
    const held = bed({ leaseMs: 1_000, onUnknown: "hold" });
    await outage(held, (first) => answer(first, { status: 500 }));
    await held.clock.advance(3_000);
    const [record] = (await held.store.list({ limit: 1 })).records;
    expect(record?.holdReason).toBe("the handler answered 500");
  });

  it("a duplicate in this process does not take a lapsed record over: the outcome goes first", async () => {
    const all = bed({ leaseMs: 1_000 });
    const first = executionOf(await all.ask());
    goAway(all);
    await answer(first);
    await all.clock.advance(5_000);
    expect(problemIn(await all.ask())).toMatchObject({ code: "idempotency-in-flight" });
    all.store.mend();
    expect((await all.ask()).kind).toBe("replay");
  });

  it("a store that takes claims and not the outcome opens no door, not even the dangerous one", async () => {
    const route = { dangerouslyRunWithoutStore: true };
    const all = bed({ leaseMs: 1_000 });
    const first = executionOf(await all.ask({ route }));
    all.store.break("renew", "fail");
    all.store.break("complete", "fail");
    await answer(first);
    await all.clock.advance(5_000);
    expect(problemIn(await all.ask({ route }))).toMatchObject({ code: "idempotency-in-flight" });
  });

  it("S5 is given up where another process took over meanwhile: its answer stays", async () => {
    const all = bed({ leaseMs: 1_000 });
    const { store, clock } = all;
    const first = executionOf(await all.ask());
    store.break("renew", "fail");
    store.break("complete", "fail");
    await answer(first);
    await clock.advance(5_000);
    const [record] = (await store.list({ limit: 1 })).records;
    if (record === undefined) throw new Error("no record");
    const { identity, fingerprint } = record;
    const owner = "f".repeat(32) as typeof record.owner;
    const times = { leaseMs: 1_000, retentionMs: 86_400_000 };
    const taken = await store.claim({ identity, fingerprint, owner, ...times, takeover: "lapsed" });
    if (taken.outcome !== "granted") throw new Error(`expected a grant, got ${taken.outcome}`);
    const body = new TextEncoder().encode("successor");
    store.mend();
    const response = { kind: "full", status: 201, headers: [], body } as const;
    await store.complete({ identity, owner, fence: taken.fence, response });
    await clock.advance(5_000);
    expect(textOf(responseOf(await all.ask()))).toBe("successor");
    expect(all.events).toContainEqual(expect.objectContaining({ type: "fence-rejected", verb: "complete" }));
    expect((await all.ichido.health()).running).toBe(0);
  });

  it("its lease is kept meanwhile: nobody takes over while the heartbeat reaches the store", async () => {
    const all = bed({ leaseMs: 1_000 });
    const first = executionOf(await all.ask());
    all.store.break("complete", "fail");
    await answer(first);
    await all.clock.advance(10_000);
    const [record] = (await all.store.list({ limit: 1 })).records;
    expect(record?.leaseLeftMs).toBeGreaterThan(0);
    all.store.mend();
    await all.clock.advance(3_000);
    expect((await all.ask()).kind).toBe("replay");
  });

  it("a waiting duplicate gets it as soon as it is written", async () => {
    const all = bed({ leaseMs: 1_000, inFlight: { waitMs: 20_000 } });
    const first = executionOf(await all.ask());
    all.store.break("complete", "fail");
    await answer(first);
    const waiting = all.ask({ route: { inFlight: { waitMs: 20_000 } } });
    await all.clock.advance(5_000);
    all.store.mend();
    await all.clock.advance(5_000);
    expect((await waiting).kind).toBe("replay");
  });

  it("executionMs is the end of it; then onUnknown decides", async () => {
    const all = bed({ leaseMs: 1_000, executionMs: 5_000, onUnknown: "hold" });
    const first = executionOf(await all.ask());
    all.store.break("complete", "fail");
    await answer(first);
    expect((await all.ichido.health()).running).toBe(1);
    await all.clock.advance(10_000);
    expect((await all.ichido.health()).running).toBe(0);
    all.store.mend();
    await all.clock.advance(5_000);
    expect(problemIn(await all.ask())).toMatchObject({ code: "outcome-unknown" });
    const away = bed({ leaseMs: 1_000, executionMs: 5_000 });
    const lost = executionOf(await away.ask());
    goAway(away);
    await answer(lost);
    await away.clock.advance(20_000);
    expect((await away.ichido.health()).running).toBe(0);
    expect(away.clock.pending).toBeLessThan(5);
  });

  it("does not wait at all where executionMs is over by then, and the heartbeat has not noticed that yet", async () => {
    const all = bed({ leaseMs: 3_000, executionMs: 5_500 });
    const first = executionOf(await all.ask());
    await all.clock.advance(5_700);
    goAway(all);
    await answer(first);
    await all.clock.advance(5_000);
    all.store.mend();
    const before = all.store.calls.length;
    expect(executionOf(await all.ask()).context.attempt).toBe(2);
    expect(all.store.calls.slice(before)).toEqual(["claim"]);
  });

  it("close waits for it, tries it a last time, and lets go", async () => {
    const all = bed({ closeMs: 2_000 });
    const first = executionOf(await all.ask());
    all.store.break("complete", "fail");
    await answer(first);
    let closed = false;
    const closing = all.ichido.close().then(() => (closed = true));
    await all.clock.advance(1_000);
    expect(closed).toBe(false);
    all.store.mend();
    await all.clock.advance(2_000);
    await closing;
    const [record] = (await all.store.list({ limit: 1 })).records;
    expect(record?.state).toBe("completed");
    const gone = bed({ closeMs: 2_000 });
    await answer(executionOf(await gone.ask()));
    const second = executionOf(await gone.ask({ key: "key-2" }));
    goAway(gone);
    await answer(second);
    const last = gone.ichido.close();
    await gone.clock.advance(3_000);
    await last;
    expect(gone.store.calls.at(-1)).toBe("complete");
    const calls = gone.store.calls.length;
    await gone.clock.advance(60_000);
    expect(gone.store.calls).toHaveLength(calls);
  });

  it("close does not leave it to a next try that would come too late", async () => {
    const all = bed({ closeMs: 10 });
    const first = executionOf(await all.ask());
    all.store.break("complete", "fail", 1);
    await answer(first);
    const closing = all.ichido.close();
    await all.clock.advance(15);
    await closing;
    expect((await all.store.list({ limit: 1 })).records).toMatchObject([{ state: "completed" }]);
  });

  it("a key whose handler never started is given back late too: under hold nobody must decide about nothing", async () => {
    const all = bed({ leaseMs: 1_000, onUnknown: "hold" });
    all.store.break("claim", "late", 1);
    all.store.break("release", "fail", 3);
    const asked = all.ask();
    await all.clock.advance(900);
    all.store.arrive();
    await all.clock.advance(1);
    expect(problemIn(await asked)).toMatchObject({ code: "idempotency-in-flight" });
    await all.clock.advance(5_000);
    expect(executionOf(await all.ask()).context.attempt).toBe(2);
  });

  it("is bounded in number: what finds no room is refused", () => {
    const { environment } = fakeClock();
    const late = createLateWrites({ environment, executionMs: 1_000 });
    const add = (id: number): unknown =>
      late.add({
        id: String(id),
        fence: 1,
        startedMs: 0,
        bytes: 0,
        write: () => Promise.reject(new Error("away")),
        onEnd: () => undefined,
      });
    for (let each = 0; each < limits.lateWritesMax; each += 1) expect(add(each)).not.toBe("full");
    expect(add(limits.lateWritesMax)).toBe("full");
    late.stop();
    expect(late.size).toBe(0);
    expect(add(1)).toBe("closed");
  });

  it("is bounded: beyond the bytes the answer's body is dropped and never run again", async () => {
    const all = bed();
    const body = new Uint8Array(1_048_576);
    const count = limits.lateBytesMax / body.length + 1;
    const executions = await Promise.all(
      Array.from({ length: count }, async (_, each) => executionOf(await all.ask({ key: `key-${each}` }))),
    );
    all.store.break("complete", "fail");
    for (const execution of executions) await answer(execution, { body });
    all.store.mend();
    await all.clock.advance(5_000);
    expect((await all.ask({ key: "key-0" })).kind).toBe("replay");
    expect(problemIn(await all.ask({ key: `key-${count - 1}` }))).toMatchObject({ code: "response-not-stored" });
    expect(headerIn(responseOf(await all.ask({ key: "key-1" })), "idempotency-replayed")).toBe("true");
  });

  it("is bounded: beyond the bytes an interim answer loses its body, which is told, and the outcome stays open", async () => {
    const all = bed({ leaseMs: 1_000 });
    const body = new Uint8Array(1_048_576);
    const count = limits.lateBytesMax / body.length;
    const [last, ...others] = await Promise.all(
      Array.from({ length: count + 1 }, async (_, each) => executionOf(await all.ask({ key: `key-${each}` }))),
    );
    goAway(all);
    for (const execution of others) await answer(execution, { body });
    expect(all.events).not.toContainEqual(expect.objectContaining({ code: "late-body-dropped" }));
    await last?.context.unknown({ status: 202, body });
    expect(all.events).toContainEqual(expect.objectContaining({ type: "warning", code: "late-body-dropped" }));
    await all.clock.advance(5_000);
    all.store.mend();
    await all.clock.advance(3_000);
    expect(problemIn(await all.ask({ key: "key-0" }))).toMatchObject({ code: "outcome-unknown" });
  });
});

describe("late writes", () => {
  function setUp() {
    const clock = fakeClock();
    const held: (boolean | undefined)[] = [];
    const after: Environment["after"] = (delayMs, run, options) => {
      held.push(options?.hold);
      return clock.environment.after(delayMs, run);
    };
    const late = createLateWrites({ environment: { ...clock.environment, after }, executionMs: 10_000 });
    const told = { tries: 0, ends: 0, drops: 0 };
    const add = (write: () => Promise<unknown>, more: Partial<LateOutcome> = {}): ReturnType<typeof late.add> =>
      late.add({
        id: "a",
        fence: 1,
        startedMs: 0,
        bytes: limits.lateBytesMax,
        dropBody: () => void (told.drops += 1),
        write: () => {
          told.tries += 1;
          return write();
        },
        onEnd: () => void (told.ends += 1),
        ...more,
      });
    return { clock, held, late, told, add };
  }

  const away = (): Promise<never> => Promise.reject(new Error("away"));

  it.each(["is taken", "fails"] as const)(
    "one that was given up ends once, and frees its room once, though a try that is under way %s",
    async (how) => {
      const { clock, late, told, add } = setUp();
      const way = Promise.withResolvers<void>();
      const waiting = add(() => way.promise);
      if (typeof waiting === "string") return expect.unreachable(waiting);
      await clock.advance(100);
      const flushed = late.flush("a");
      waiting.stop();
      if (how === "fails") way.reject(new Error("away"));
      else way.resolve();
      await clock.advance(9_000);
      expect(await flushed).toBe(how === "is taken");
      expect(told).toEqual({ tries: 1, ends: 1, drops: 0 });
      expect([late.size, clock.pending]).toEqual([0, 0]);
      add(away, { id: "b" });
      expect(told.drops).toBe(0);
      add(away, { id: "c", bytes: 1 });
      expect(told.drops).toBe(1);
    },
  );

  it("keep the process alive: an answer that was sent is worth waiting for", async () => {
    const { clock, held, add } = setUp();
    add(away);
    await clock.advance(100);
    expect(held.length).toBeGreaterThan(1);
    expect(new Set(held)).toEqual(new Set([true]));
  });

  it("take nothing whose time is up when it comes: nothing would end it any more", async () => {
    const { clock, late, told, add } = setUp();
    await clock.advance(9_999);
    expect(add(away, { startedMs: 0 })).not.toBe("closed");
    await clock.advance(1);
    expect(add(away, { id: "b", startedMs: 0 })).toBe("closed");
    await clock.advance(10_000);
    expect([late.size, clock.pending]).toEqual([0, 0]);
    expect(told.ends).toBe(1);
  });
});
