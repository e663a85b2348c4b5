import { describe, expect, it } from "vitest";
import {
  answer,
  bed,
  executionOf,
  problemIn,
  responseOf,
  textOf,
  type Bed,
} from "../../../../test/support/engine-bed.ts";
import type { VerifyAnswer } from "./options.ts";
import { createReconciler, type ReconcileRequest, type Reconciler, type ReconcilerOptions } from "./reconciler.ts";
import type { Identity } from "./record.ts";
import { operationIdOf } from "./scope.ts";
import { settle } from "./settlement.ts";
import type { Store, StoredRecord } from "./store.ts";

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
    expect(await reconciler.tick()).toEqual(none);
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
      record: operationIdOf(records[0]?.identity as never),
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

  it("a record that was handed back between the list and the claim is given back again", async () => {
    const world = bed();
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
    await world.store.settle({ identity, fence, decision: { kind: "release" }, actor: "ops", reason: "by hand" });
    const reconciler = createReconciler(stale, {
      operations: { [operation]: { verify: () => found } },
      olderThanMs: 0,
      environment: world.clock.environment,
    });
    expect(await reconciler.tick()).toEqual({ ...none, overtaken: 1 });
    expect(executionOf(await world.ask()).context.attempt).toBe(3);
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

  it.each([
    [{ operations: {} }, /at least one operation/],
    [{ everyMs: 0 }, /everyMs/],
    [{ verifyMs: 55_000 }, /at most 50000/],
    [{ batchMax: 1.5 }, /batchMax/],
  ])("refuses %j", (options, message) => {
    expect(() => reconcilerOf(bed(), () => found, options)).toThrow(message);
  });
});

describe("settle", () => {
  it("adopts, releases and holds by operation id, with who and why", async () => {
    const world = bed();
    await open(world, "a");
    await open(world, "b");
    const { records } = await world.store.list({ limit: 10 });
    const [a, b] = records.map(({ identity }) => operationIdOf(identity));
    const by = { actor: "dana", reason: "the bank's ledger shows it" };
    const adopt = { kind: "adopt", answer: { status: 201, body: { id: 9 } } } as const;
    expect(await settle(world.store, { record: a ?? "", decision: adopt, ...by })).toBe("ok");
    expect(textOf(responseOf(await world.ask({ key: "a" })))).toBe('{"id":9}');
    expect(await settle(world.ichido, { record: a ?? "", decision: adopt, ...by })).toBe("completed");
    expect(await settle(world.ichido, { record: b ?? "", decision: { kind: "release" }, fence: 1, ...by })).toBe(
      "stale",
    );
    expect(await settle(world.ichido, { record: b ?? "", decision: { kind: "release" }, ...by })).toBe("ok");
    expect(executionOf(await world.ask({ key: "b" })).context.attempt).toBe(2);
    expect(await settle(world.ichido, { record: "nonsense", decision: { kind: "hold" }, ...by })).toBe("absent");
    await expect(
      settle(world.ichido, { record: b ?? "", decision: { kind: "hold" }, actor: " ", reason: "x" }),
    ).rejects.toThrow(/actor/);
  });
});
