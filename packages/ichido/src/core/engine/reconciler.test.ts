import { describe, expect, it } from "vitest";
import {
  answer,
  bed,
  copying,
  executionOf,
  problemIn,
  responseOf,
  textOf,
  type Bed,
} from "../../../../../test/support/engine-bed.ts";
import type { VerifyAnswer } from "../contract/options.ts";
import { createReconciler, type Reconciler } from "./reconciler.ts";
import type { ReconcileRequest, ReconcilerOptions } from "./reconciler-options.ts";
import type { Identity } from "../contract/record.ts";
import { settle } from "./settlement.ts";
import type { Store, StoredRecord } from "../contract/store.ts";
import { sampleResponse } from "../../testing/store-suite/samples.ts";

const operation = "payment.create";

function reconcilerOf(
  { ichido, clock, events }: Bed,
  verify: (request: ReconcileRequest) => VerifyAnswer | Promise<VerifyAnswer>,
  options: Partial<ReconcilerOptions> = {},
): Reconciler {
  return createReconciler(ichido, {
    operations: { [operation]: { verify } },
    olderThanMs: 0,
    everyMs: 1_000,
    environment: clock.environment,
    onEvent: (event) => void events.push(event),
    ...options,
  });
}

function moved(record: StoredRecord | undefined): StoredRecord | undefined {
  return record === undefined ? undefined : { ...record, fence: record.fence + 1 };
}

const none = { adopted: 0, released: 0, held: 0, waiting: 0, overtaken: 0, failed: 0 };
const found = { verdict: "found", response: { status: 201, body: { id: "ch_1" } } } as const;

/** Ends the lease as a vanished owner would, without waiting for its heartbeat to stop. */
async function open(world: Bed, key = "key-1"): Promise<string> {
  const execution = executionOf(await world.ask({ key }));
  await execution.context.unknown({ status: 202, body: { state: "pending" } });
  await world.clock.advance(2_000);
  return execution.context.reference("bank.charge");
}

describe("the reconciler", () => {
  it("adopts what verify found, asked with the references of the vanished attempt, and leaves an audit row", async () => {
    const world = bed();
    const reference = await open(world);
    const seen: ReconcileRequest[] = [];
    const reconciler = reconcilerOf(world, (request) => {
      seen.push(request);
      return found;
    });
    expect(await reconciler.tick()).toEqual({ ...none, adopted: 1 });
    expect(seen[0]?.reference("bank.charge")).toBe(reference);
    expect(seen[0]?.ageMs).toBeGreaterThanOrEqual(2_000);
    const replay = await world.ask();
    expect(replay.kind).toBe("replay");
    expect(textOf(responseOf(replay))).toBe('{"id":"ch_1"}');
    const [record] = (await world.store.list({ limit: 10 })).records;
    const audit = record === undefined ? [] : await world.store.audit(record.identity);
    expect(audit).toMatchObject([{ actor: "ichido reconciler", action: "adopt" }]);
    expect(world.store.calls, "no step was started").not.toContain("steps");
    expect(await reconciler.tick()).toEqual(none);
  });

  it("hands back with its steps: what became of a call is asked by the step's own verify, not taken from absent", async () => {
    const world = bed({ onUnknown: { verify: () => ({ verdict: "absent" }) } });
    const charges: string[] = [];
    const verify = (): { verdict: "found"; value: string } => ({ verdict: "found", value: "ch_1" });
    const charge = (): never => {
      charges.push("bank.charge");
      throw new Error("the answer was lost");
    };
    const first = executionOf(await world.ask());
    await first.context.step("bank.charge", { verify }, charge).catch(() => undefined);
    await first.settle({ kind: "threw", error: new Error("boom") });
    await world.clock.advance(2_000);
    const reconciler = reconcilerOf(world, () => ({ verdict: "absent" }));
    expect(await reconciler.tick()).toEqual({ ...none, released: 1 });
    const second = executionOf(await world.ask());
    expect(await second.context.step("bank.charge", { verify }, charge)).toBe("ch_1");
    expect(charges).toHaveLength(1);
  });

  it("gives back what a copy of its own claim takes between its suspension and its decision", async () => {
    const { make, copies } = copying();
    const world = bed({ onUnknown: "hold", leaseMs: 1_000 }, (clock) => {
      const store = make(clock);
      const suspend: Store["suspend"] = async (request) => {
        const result = await store.suspend(request);
        await copies.splice(0).at(-1)?.();
        return result;
      };
      return { ...store, suspend };
    });
    executionOf(await world.ask());
    world.store.break("renew", "fail");
    await world.clock.advance(5_000);
    await reconcilerOf(world, () => ({ verdict: "not-visible-yet" })).tick();
    await world.clock.advance(10_000);
    expect((await world.store.list({ limit: 1 })).records[0]).toMatchObject({ state: "unknown", leaseLeftMs: 0 });
  });

  it("a copy of its own claim does not stand in the way of rerun", async () => {
    const { make, copies } = copying();
    const world = bed({ onUnknown: "hold", leaseMs: 1_000 }, (clock) => {
      const store = make(clock);
      const settle: Store["settle"] = async (request) => {
        const result = await store.settle(request);
        await copies.at(-1)?.();
        return result;
      };
      return { ...store, settle };
    });
    await open(world);
    const kinds: string[] = [];
    const rerun = async (): Promise<void> => void kinds.push((await world.ask()).kind);
    const verify = (): VerifyAnswer => ({ verdict: "absent" });
    const reconciler = reconcilerOf(world, verify, { operations: { [operation]: { verify, rerun } } });
    expect(await reconciler.tick()).toEqual({ ...none, released: 1 });
    expect(kinds).toEqual(["execute"]);
  });

  it.each(["lose", "late"] as const)("calls rerun though the reply to the release was lost: %s", async (fault) => {
    const world = bed();
    const execution = executionOf(await world.ask());
    await execution.context.unknown({ status: 202, body: { state: "pending" } });
    await world.clock.advance(2_000);
    const reruns: string[] = [];
    const verify = () => ({ verdict: "absent" }) as const;
    const reconciler = reconcilerOf(world, verify, {
      operations: { [operation]: { verify, rerun: ({ identity }) => reruns.push(identity.key) } },
    });
    world.store.break("settle", fault, 1);
    const ticked = reconciler.tick();
    await world.clock.advance(10_000);
    expect(await ticked).toMatchObject({ released: 1 });
    expect(reruns).toEqual(["key-1"]);
  });

  it("does not wait for ever for a rerun", async () => {
    const world = bed();
    await open(world, "key-1");
    await open(world, "key-2");
    let asked = 0;
    const verify = (): VerifyAnswer => {
      asked += 1;
      return { verdict: "absent" };
    };
    const rerun = (): Promise<never> => new Promise(() => undefined);
    const reconciler = reconcilerOf(world, verify, { operations: { [operation]: { verify, rerun } } });
    const ticked = reconciler.tick();
    await world.clock.advance(120_000);
    expect(await ticked).toEqual({ ...none, released: 2 });
    expect(asked).toBe(2);
    expect(world.events).toContainEqual(expect.objectContaining({ type: "warning", code: "rerun-slow" }));
  });

  it("gives back what a copy of its own claim takes after its decision", async () => {
    const { make, copies } = copying();
    const world = bed({ onUnknown: "hold", leaseMs: 1_000 }, make);
    await open(world);
    const reconciler = reconcilerOf(world, () => ({ verdict: "absent" }));
    expect(await reconciler.tick()).toEqual({ ...none, released: 1 });
    await copies.at(-1)?.();
    expect((await world.store.list({ limit: 1 })).records[0]).toMatchObject({ state: "processing" });
    await world.clock.advance(30_000);
    expect((await world.store.list({ limit: 1 })).records[0]).toMatchObject({ state: "failed" });
    expect((await world.ask()).kind).toBe("execute");
  });

  it("S9 leaves a key new whose record has expired, though it looked", async () => {
    const world = bed({ leaseMs: 1_000, retentionMs: 10_000 });
    // Nothing expires before the clock is known to be even.
    await world.clock.advance(120_000);
    executionOf(await world.ask());
    world.store.break("renew", "fail");
    await world.clock.advance(11_000);
    world.store.mend();
    await reconcilerOf(world, () => ({ verdict: "absent" })).tick();
    await world.clock.advance(20_000);
    expect((await world.ask({ body: { amount: 7 } })).kind).toBe("execute");
  });

  it("hands back what verify found absent, and calls rerun", async () => {
    const world = bed();
    await open(world);
    const reruns: string[] = [];
    const reconciler = reconcilerOf(world, () => ({ verdict: "absent" }), {
      operations: {
        [operation]: { verify: () => ({ verdict: "absent" }), rerun: ({ identity }) => reruns.push(identity.key) },
      },
    });
    expect(await reconciler.tick()).toEqual({ ...none, released: 1 });
    expect(reruns).toEqual(["key-1"]);
    await answer(executionOf(await world.ask()));
    expect((await world.ask()).kind).toBe("replay");
  });

  it("asks again later where nothing is visible yet, ever more rarely, and gives up to hold", async () => {
    const world = bed();
    await open(world);
    let asked = 0;
    const reconciler = reconcilerOf(
      world,
      () => {
        asked += 1;
        return { verdict: "not-visible-yet" };
      },
      { giveUpAfterMs: 60_000 },
    );
    expect(await reconciler.tick()).toEqual({ ...none, waiting: 1 });
    expect(await reconciler.tick()).toEqual(none);
    for (let seconds = 0; seconds < 50; seconds += 1) {
      await world.clock.advance(1_000);
      await reconciler.tick();
    }
    expect(asked).toBeGreaterThanOrEqual(4);
    expect(asked).toBeLessThanOrEqual(9);
    for (let minutes = 0; minutes < 3; minutes += 1) {
      await world.clock.advance(60_000);
      await reconciler.tick();
    }
    expect(problemIn(await world.ask())["code"]).toBe("outcome-unknown");
    const [record] = (await world.store.list({ limit: 10 })).records;
    expect(record?.holdReason).toMatch(/could not tell/);
    await world.clock.advance(3_600_000);
    const before = asked;
    expect(await reconciler.tick()).toEqual(none);
    expect(asked).toBe(before);
  });

  it("counts a verify that throws or hangs as not visible yet", async () => {
    const world = bed();
    await open(world, "throws");
    const throwing = reconcilerOf(world, () => {
      throw new Error("the provider is down");
    });
    expect(await throwing.tick()).toEqual({ ...none, waiting: 1 });
    expect(world.events).toContainEqual(expect.objectContaining({ type: "warning", code: "verify-failed" }));
    await world.clock.advance(120_000);
    let signal: AbortSignal | undefined;
    const hanging = reconcilerOf(world, (request) => {
      signal = request.signal;
      return new Promise<never>(() => {});
    });
    const tick = hanging.tick();
    await world.clock.advance(11_000);
    expect(await tick).toEqual({ ...none, waiting: 1 });
    expect(signal?.aborted).toBe(true);
  });

  it("leaves young records, holds and other operations alone", async () => {
    const world = bed();
    await open(world, "young");
    executionOf(await world.ask({ key: "other", route: { operation: "mail.send" } }));
    const patient = reconcilerOf(world, () => found, { olderThanMs: 60_000 });
    expect(await patient.tick()).toEqual(none);
    await world.clock.advance(59_000);
    expect(await patient.tick()).toEqual(none);
    const { records } = await world.store.list({ operation, limit: 10 });
    await settle(world.ichido, {
      record: records[0]?.identity as never,
      decision: { kind: "hold" },
      actor: "ops",
      reason: "asked the bank",
    });
    await world.clock.advance(20_000_000);
    expect(await patient.tick()).toEqual(none);
  });

  it("takes a record once it is old enough, by the lapsed lease or since it was first seen", async () => {
    const world = bed();
    await open(world, "ended");
    const patient = reconcilerOf(world, () => found, { olderThanMs: 60_000 });
    expect(await patient.tick()).toEqual(none);
    await world.clock.advance(60_001);
    expect(await patient.tick()).toEqual({ ...none, adopted: 1 });
    const vanished = bed({ executionMs: 1_000 });
    executionOf(await vanished.ask());
    await vanished.clock.advance(100_000);
    const late = reconcilerOf(vanished, () => found, { olderThanMs: 60_000 });
    expect(await late.tick()).toEqual({ ...none, adopted: 1 });
  });

  it("S5 an attempt that comes back while its record is being reconciled is too late", async () => {
    const world = bed();
    const first = executionOf(await world.ask());
    await first.context.unknown({ status: 202 });
    await world.clock.advance(2_000);
    const gate = Promise.withResolvers<VerifyAnswer>();
    const tick = reconcilerOf(world, () => gate.promise).tick();
    await world.clock.advance(1);
    expect(problemIn(await world.ask())["code"]).toBe("idempotency-in-flight");
    gate.resolve(found);
    await world.clock.advance(1);
    expect(await tick).toEqual({ ...none, adopted: 1 });
  });

  /** A store that lets a person put the record on hold right before or after the reconciler's own call of a verb. */
  function heldAround(world: Bed, verb: "claim" | "suspend" | "settle", when: "before" | "after"): Store {
    let done = false;
    const person = async (): Promise<void> => {
      if (done) return;
      done = true;
      const { identity, fence } = (await world.store.list({ limit: 1 })).records[0] as StoredRecord;
      const decision = { kind: "hold" } as const;
      expect(await world.store.settle({ identity, fence, decision, actor: "dana", reason: "do not run" })).toBe("ok");
    };
    const changed = async (...args: readonly unknown[]): Promise<unknown> => {
      if (when === "before") await person();
      const result = await (world.store[verb] as (...all: readonly unknown[]) => Promise<unknown>)(...args);
      if (when === "after") await person();
      return result;
    };
    return new Proxy(world.store, {
      get: (target, name, receiver) => (name === verb ? changed : Reflect.get(target, name, receiver)),
    });
  }

  /** With how often `verify` is asked: of a record that is on hold already, never. */
  const interleavings: readonly (readonly [string, Parameters<typeof heldAround>[1], "before" | "after", number])[] = [
    ["between the list and the claim", "claim", "before", 0],
    ["between the end of the lease and the decision", "suspend", "after", 1],
    ["right before the decision", "settle", "before", 1],
  ];
  const verdicts: readonly VerifyAnswer[] = [found, { verdict: "absent" }, { verdict: "not-visible-yet" }];
  it.each(interleavings)("S16 a person's hold %s is never overridden", async (_title, verb, when, times) => {
    for (const verdict of verdicts) {
      const world = bed();
      await open(world);
      const store = heldAround(world, verb, when);
      const asked: unknown[] = [];
      const reruns: unknown[] = [];
      const verify = (each: unknown): VerifyAnswer => {
        asked.push(each);
        return verdict;
      };
      const report = await createReconciler(store, {
        operations: { [operation]: { verify, rerun: (each) => reruns.push(each) } },
        olderThanMs: 0,
        giveUpAfterMs: 1,
        environment: world.clock.environment,
      }).tick();
      expect(report).toEqual({ ...none, overtaken: 1 });
      expect(asked).toHaveLength(times);
      expect(reruns).toEqual([]);
      const [record] = (await world.store.list({ limit: 1 })).records as [StoredRecord];
      expect([record.state, record.holdReason]).toEqual(["unknown", "do not run"]);
      expect(await world.store.audit(record.identity)).toMatchObject([{ actor: "dana", action: "hold" }]);
      expect(problemIn(await world.ask())).toMatchObject({ code: "outcome-unknown" });
    }
  });

  it("S16 a person's hold made while verify outlived the reconciler's lease is never overridden", async () => {
    for (const verdict of verdicts) {
      const world = bed();
      await open(world);
      const verify = async (): Promise<VerifyAnswer> => {
        const [record] = (await world.store.list({ limit: 1 })).records as [StoredRecord];
        const { identity, fence } = record;
        const decision = { kind: "hold" } as const;
        const hold = { identity, fence, decision, actor: "dana", reason: "do not run" } as const;
        expect(await world.store.settle(hold), "while it is asked about, the record is somebody's").toBe("live");
        // The store's clock, alone, passes the lease: a pause of this process, or a clock that jumps.
        world.clock.stepWall(60_000);
        expect(await world.store.settle(hold)).toBe("ok");
        return verdict;
      };
      expect(await reconcilerOf(world, verify, { giveUpAfterMs: 1 }).tick()).toEqual({ ...none, overtaken: 1 });
      const [record] = (await world.store.list({ limit: 1 })).records as [StoredRecord];
      expect([record.state, record.holdReason]).toEqual(["unknown", "do not run"]);
    }
  });

  it("S2 a claim of its own whose reply was lost is still a takeover: what happened is asked", async () => {
    const world = bed({ executionMs: 1_000, onUnknown: { verify: () => ({ verdict: "not-visible-yet" }) } });
    executionOf(await world.ask());
    await world.clock.advance(100_000);
    const claim: Store["claim"] = async (request) => {
      await world.store.claim(request);
      return world.store.claim(request);
    };
    const store = new Proxy(world.store, {
      get: (target, name, receiver) => (name === "claim" ? claim : Reflect.get(target, name, receiver)),
    });
    let asked = 0;
    const verify = (): VerifyAnswer => {
      asked += 1;
      return found;
    };
    const operations = { [operation]: { verify } };
    const { environment } = world.clock;
    const report = await createReconciler(store, { operations, olderThanMs: 0, environment }).tick();
    expect([report, asked]).toEqual([{ ...none, adopted: 1 }, 1]);
  });

  it.each(["an engine", "a store"])("on %s, gives back what a claim was granted whose reply was lost", async (what) => {
    const world = bed();
    await open(world);
    const options = { operations: { [operation]: { verify: () => found } }, olderThanMs: 0 };
    const holder = what === "a store" ? world.store : world.ichido;
    const reconciler = createReconciler(holder, { ...options, environment: world.clock.environment });
    world.store.break("claim", "lose", 1);
    expect(await reconciler.tick()).toEqual({ ...none, failed: 1 });
    // Its lease would last for 20 seconds.
    await world.clock.advance(1_000);
    expect(await reconciler.tick()).toEqual({ ...none, adopted: 1 });
  });

  it("gives back what it holds when the store fails under it", async () => {
    const world = bed();
    await open(world);
    const reconciler = reconcilerOf(world, () => found);
    world.store.break("suspend", "fail", 1);
    expect(await reconciler.tick()).toEqual({ ...none, failed: 1 });
    await world.clock.advance(1_000);
    expect(await reconciler.tick()).toEqual({ ...none, adopted: 1 });
  });

  it("looks for lost claims no longer once it was stopped, and does again when it was started again", async () => {
    const world = bed();
    await open(world);
    const reconciler = reconcilerOf(world, () => found, { everyMs: 1_000_000 });
    const own = createReconciler(world.store, {
      operations: { [operation]: { verify: () => found } },
      olderThanMs: 0,
      environment: world.clock.environment,
    });
    world.store.break("claim", "lose", 2);
    await own.tick();
    await own.stop();
    await world.clock.advance(19_000);
    expect(await reconciler.tick()).toEqual(none);
    await world.clock.advance(2_000);
    own.start();
    expect(await own.tick()).toEqual({ ...none, failed: 1 });
    await world.clock.advance(1_000);
    expect(await reconciler.tick()).toEqual({ ...none, adopted: 1 });
    await own.stop();
  });

  it("a store that is slow to tell of steps takes nothing from the time of verify", async () => {
    const world = bed();
    const first = executionOf(await world.ask());
    await first.context.step("bank.charge", () => "ch_1");
    await first.context.unknown({ status: 202, body: { state: "pending" } });
    await world.clock.advance(2_000);
    const names: string[] = [];
    const verify = ({ steps }: ReconcileRequest): VerifyAnswer => {
      names.push(...steps.map(({ name }) => name));
      return found;
    };
    const reconciler = reconcilerOf(world, verify, { verifyMs: 1_000 });
    world.store.break("steps", "late", 1);
    const look = reconciler.tick();
    await world.clock.advance(1_500);
    world.store.arrive();
    expect(await look).toEqual({ ...none, adopted: 1 });
    expect(names).toEqual(["bank.charge"]);
  });

  it("verify is not asked without the steps, but at the next look", async () => {
    const world = bed();
    const first = executionOf(await world.ask());
    await first.context.step("bank.charge", () => "ch_1");
    await first.context.unknown({ status: 202, body: { state: "pending" } });
    await world.clock.advance(2_000);
    let asked = 0;
    const reconciler = reconcilerOf(world, () => {
      asked += 1;
      return found;
    });
    world.store.break("steps", "fail", 1);
    expect(await reconciler.tick()).toEqual({ ...none, waiting: 1 });
    expect(asked).toBe(0);
    await world.clock.advance(1_000);
    expect(await reconciler.tick()).toEqual({ ...none, adopted: 1 });
  });

  it("a store that hangs is waited for no longer than its calls may take", async () => {
    const world = bed();
    await open(world);
    const events: string[] = [];
    const reconciler = createReconciler(world.store, {
      operations: { [operation]: { verify: () => found } },
      olderThanMs: 0,
      environment: world.clock.environment,
      onEvent: (event) => void events.push(event.type === "store-call" ? event.verb : event.type),
    });
    world.store.break("find", "hang", 1);
    const report = reconciler.tick();
    await world.clock.advance(6_000);
    expect(await report).toEqual({ ...none, failed: 1 });
    expect(events).toEqual(["list", "find", "warning", "warning", "reconciled"]);
  });

  it("gives up well before a record's own retention would have ended, and after 12 hours by default", async () => {
    const onUnknown = { verify: (): VerifyAnswer => ({ verdict: "not-visible-yet" }) };
    for (const [retentionMs, heldByMs] of [
      [600_000, 450_000],
      [7 * 86_400_000, 43_200_000],
    ] as const) {
      const world = bed({ onUnknown, retentionMs, executionMs: 1_000 });
      executionOf(await world.ask());
      await world.clock.advance(60_000);
      const reconciler = reconcilerOf(world, onUnknown.verify, { everyMs: 60_000 });
      let held = 0;
      for (let passedMs = 60_000; passedMs < heldByMs - 120_000; passedMs += 60_000) {
        held += (await reconciler.tick()).held;
        await world.clock.advance(60_000);
      }
      expect(held, "not before its time").toBe(0);
      for (let more = 0; more < 4; more += 1) {
        await world.clock.advance(60_000);
        held += (await reconciler.tick()).held;
      }
      expect(held).toBe(1);
    }
  });

  it("a verify that answers a word which is none of the three counts as not visible yet, with a warning", async () => {
    const world = bed();
    await open(world);
    const reconciler = reconcilerOf(world, () => ({ verdict: "pending" }) as never);
    expect(await reconciler.tick()).toEqual({ ...none, waiting: 1 });
    expect(world.events).toContainEqual(expect.objectContaining({ type: "warning", code: "verdict-unknown" }));
  });

  it.each([
    [
      "taken by a caller meanwhile",
      { find: (store: Store) => async (identity: Identity) => moved(await store.find(identity)) },
    ],
    ["live again", { claim: () => async () => ({ outcome: "processing", leaseLeftMs: 1, attempts: 1 }) }],
    ["overtaken while it was asked about", { suspend: () => async () => "stale" }],
    ["overtaken before the decision", { settle: () => async () => "stale" }],
  ])("a record that is %s is left alone", async (_title, change) => {
    for (const verdict of [found, { verdict: "absent" }, { verdict: "not-visible-yet" }] as VerifyAnswer[]) {
      const world = bed();
      await open(world);
      const changed = Object.fromEntries(
        Object.entries(change).map(([verb, make]) => [verb, (make as (store: Store) => unknown)(world.store)]),
      );
      const store = new Proxy(world.store, {
        get: (target, name, receiver) => changed[String(name)] ?? Reflect.get(target, name, receiver),
      });
      const report = await createReconciler(store, {
        operations: { [operation]: { verify: () => verdict } },
        olderThanMs: 0,
        giveUpAfterMs: 1,
        environment: world.clock.environment,
      }).tick();
      expect(report).toEqual({ ...none, overtaken: 1 });
    }
  });

  /** A reconciler that does not see what is decided by hand between its list and its claim. */
  async function settledBehind(world: Bed, decision: Parameters<Store["settle"]>[0]["decision"]): Promise<Reconciler> {
    await open(world);
    const listed = await world.store.list({ limit: 10 });
    const { identity, fence } = listed.records[0] as StoredRecord;
    const stale = new Proxy(world.store, {
      get(target, name, receiver) {
        if (name === "list") return async () => listed;
        if (name === "find") return async () => listed.records[0];
        return Reflect.get(target, name, receiver);
      },
    });
    await world.store.settle({ identity, fence, decision, actor: "ops", reason: "by hand" });
    return createReconciler(stale, {
      operations: { [operation]: { verify: () => found } },
      olderThanMs: 0,
      environment: world.clock.environment,
    });
  }

  it("a record that was handed back between the list and the claim is given back again", async () => {
    const world = bed();
    const reconciler = await settledBehind(world, { kind: "release" });
    expect(await reconciler.tick()).toEqual({ ...none, overtaken: 1 });
    expect(executionOf(await world.ask()).context.attempt).toBe(3);
  });

  it("a record that was completed between the list and the claim is left as it is", async () => {
    const world = bed();
    const reconciler = await settledBehind(world, { kind: "adopt", response: sampleResponse() });
    const calls = world.store.calls.length;
    expect(await reconciler.tick()).toEqual({ ...none, overtaken: 1 });
    expect(world.store.calls.slice(calls)).toEqual(["claim"]);
  });

  it("a store that fails under one record does not stop the others", async () => {
    const world = bed();
    await open(world, "a");
    await open(world, "b");
    const reconciler = reconcilerOf(world, () => found);
    world.store.break("claim", "fail", 1);
    expect(await reconciler.tick()).toEqual({ ...none, adopted: 1, failed: 1 });
    expect(world.events).toContainEqual(expect.objectContaining({ code: "reconcile-failed" }));
    expect(await reconciler.tick()).toEqual({ ...none, adopted: 1 });
  });

  it("two of them at once ask about a record once", async () => {
    const world = bed();
    for (let at = 0; at < 10; at += 1) await open(world, `key-${at}`);
    const asked: string[] = [];
    const verify = ({ identity }: ReconcileRequest): VerifyAnswer => {
      asked.push(identity.key);
      return found;
    };
    const reports = await Promise.all([reconcilerOf(world, verify).tick(), reconcilerOf(world, verify).tick()]);
    expect(asked.toSorted()).toEqual(Array.from({ length: 10 }, (_, at) => `key-${at}`));
    expect(reports.reduce((sum, { adopted }) => sum + adopted, 0)).toBe(10);
  });

  it("takes a bounded batch with each look and reaches all in the end", async () => {
    const world = bed();
    for (let at = 0; at < 25; at += 1) await open(world, `key-${at}`);
    const reconciler = reconcilerOf(world, () => found, { batchMax: 4 });
    let adopted = 0;
    for (let look = 0; look < 20 && adopted < 25; look += 1) {
      const report = await reconciler.tick();
      expect(report.adopted).toBeLessThanOrEqual(4);
      adopted += report.adopted;
    }
    expect(adopted).toBe(25);
  });

  it("runs by itself between start and stop, and survives a store that fails", async () => {
    const world = bed();
    await open(world);
    world.store.break("list", "fail", 1);
    const reconciler = reconcilerOf(world, () => found);
    reconciler.start();
    reconciler.start();
    await world.clock.advance(1_500);
    expect(world.events).toContainEqual(expect.objectContaining({ code: "reconcile-failed" }));
    await world.clock.advance(3_000);
    expect((await world.ask()).kind).toBe("replay");
    await reconciler.stop();
    const calls = world.store.calls.length;
    await world.clock.advance(60_000);
    expect(world.store.calls.slice(calls).filter((verb) => verb === "list")).toEqual([]);
  });

  it("stop() ends the look after the record under way; a later look goes on with the rest", async () => {
    const world = bed();
    for (const key of ["a", "b", "c"]) await open(world, key);
    const asked = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<VerifyAnswer>();
    const keys: string[] = [];
    const reconciler = reconcilerOf(world, ({ identity }) => {
      keys.push(identity.key);
      asked.resolve();
      return answered.promise;
    });
    const look = reconciler.tick();
    await asked.promise;
    const stopped = reconciler.stop();
    answered.resolve(found);
    await stopped;
    expect(keys).toHaveLength(1);
    expect(await look).toEqual({ ...none, adopted: 1 });
    expect(await reconciler.tick()).toEqual({ ...none, adopted: 2 });
  });

  it("stop() waits no longer than drainMs for what it cannot end", async () => {
    const world = bed();
    await open(world);
    const asked = Promise.withResolvers<AbortSignal>();
    const reconciler = reconcilerOf(world, ({ signal }) => {
      asked.resolve(signal);
      return new Promise(() => undefined);
    });
    const look = reconciler.tick();
    const signal = await asked.promise;
    const stopped = reconciler.stop({ drainMs: 500 }).then(() => signal.aborted);
    await world.clock.advance(500);
    const [record] = (await world.store.list({ limit: 1 })).records;
    expect(record, "nobody has to wait out the lease").toMatchObject({ state: "unknown", leaseLeftMs: 0 });
    await world.clock.advance(20_000);
    expect(await stopped, "verify was given up before stop() resolved").toBe(false);
    expect(await look).toEqual({ ...none, waiting: 1 });
  });

  it("stop() ends the look before its next operation", async () => {
    const world = bed();
    await open(world);
    const verify = (): VerifyAnswer => {
      void reconciler.stop();
      return found;
    };
    const operations = { [operation]: { verify }, "mail.send": { verify } };
    const reconciler = reconcilerOf(world, verify, { operations });
    expect(await reconciler.tick()).toEqual({ ...none, adopted: 1 });
    expect(world.store.calls.filter((verb) => verb === "list")).toHaveLength(1);
  });

  it("stop() ends no lease where nothing is in its hands", async () => {
    const world = bed();
    for (const key of ["a", "b"]) await open(world, key);
    const reconciler = reconcilerOf(world, () => {
      world.store.break("claim", "hang", 1);
      return found;
    });
    const look = reconciler.tick();
    await world.clock.advance(1);
    const calls = world.store.calls.length;
    const stopped = reconciler.stop({ drainMs: 500 });
    await world.clock.advance(500);
    await stopped;
    expect(world.store.calls.slice(calls), "the one that was decided is not in its hands").not.toContain("suspend");
    await world.clock.advance(10_000);
    expect(await look).toEqual({ ...none, adopted: 1, failed: 1 });
  });

  it.each([
    ["after the look had begun", (reconciler: Reconciler) => reconciler.start()],
    [
      "while it stopped",
      (reconciler: Reconciler) => {
        void reconciler.stop({ drainMs: 500 });
        reconciler.start();
      },
    ],
  ])("stop() hands back the record under way also where it was started %s", async (_when, restart) => {
    const world = bed();
    await open(world);
    const asked = Promise.withResolvers<void>();
    const reconciler = reconcilerOf(world, () => {
      asked.resolve();
      return new Promise(() => undefined);
    });
    void reconciler.tick();
    await asked.promise;
    restart(reconciler);
    const stopped = reconciler.stop({ drainMs: 500 });
    await world.clock.advance(500);
    await stopped;
    const [record] = (await world.store.list({ limit: 1 })).records;
    expect(record, "nobody has to wait out the lease").toMatchObject({ state: "unknown", leaseLeftMs: 0 });
  });

  it.each([
    [{ operations: {} }, /at least one operation/],
    [{ everyMs: 0 }, /everyMs/],
    [{ verifyMs: 55_000 }, /from 1 to 50000/],
    [{ batchMax: 1.5 }, /batchMax/],
  ])("refuses %j", (options, message) => {
    expect(() => reconcilerOf(bed(), () => found, options)).toThrow(message);
  });
});

describe("settle", () => {
  it("adopts, releases and holds by identity, with who and why", async () => {
    const world = bed();
    await open(world, "a");
    await open(world, "b");
    const { records } = await world.store.list({ limit: 10 });
    const [a, b] = records.map(({ identity }) => identity) as [Identity, Identity];
    const by = { actor: "dana", reason: "the bank's ledger shows it" };
    const adopt = { kind: "adopt", answer: { status: 201, body: { id: 9 } } } as const;
    expect(await settle(world.store, { record: a, decision: adopt, ...by })).toBe("ok");
    expect(textOf(responseOf(await world.ask({ key: "a" })))).toBe('{"id":9}');
    expect(await settle(world.ichido, { record: a, decision: adopt, ...by })).toBe("completed");
    expect(await settle(world.ichido, { record: b, decision: { kind: "release" }, fence: 1, ...by })).toBe("stale");
    expect(await settle(world.ichido, { record: b, decision: { kind: "release" }, ...by })).toBe("ok");
    expect(executionOf(await world.ask({ key: "b" })).context.attempt).toBe(2);
    const nobody = { ...b, key: "nobody" as Identity["key"] };
    expect(await settle(world.ichido, { record: nobody, decision: { kind: "hold" }, ...by })).toBe("absent");
    const text = { record: "nonsense" as never, decision: { kind: "hold" }, ...by } as const;
    await expect(settle(world.ichido, text)).rejects.toMatchObject({ code: "option-invalid" });
    await expect(
      settle(world.ichido, { record: b, decision: { kind: "hold" }, actor: " ", reason: "x" }),
    ).rejects.toThrow(/actor/);
  });

  it("is bounded and told of like every call of the engine", async () => {
    const world = bed();
    await open(world);
    const [record] = (await world.store.list({ limit: 1 })).records;
    if (record === undefined) throw new Error("expected a record");
    const hold = { decision: { kind: "hold" }, actor: "dana", reason: "looked into it" } as const;
    world.store.break("settle", "hang", 1);
    const settled = settle(world.ichido, { record, ...hold });
    const failed = expect(settled).rejects.toMatchObject({ code: "store-unavailable", verb: "settle" });
    await world.clock.advance(6_000);
    await failed;
    expect(world.events.filter((event) => event.type === "store-call").at(-1)).toMatchObject({ verb: "settle" });
    expect(await settle(world.ichido, { record, ...hold })).toBe("ok");
  });
});
