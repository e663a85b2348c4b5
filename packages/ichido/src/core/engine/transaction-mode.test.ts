import { describe, expect, it } from "vitest";
import { providedBy } from "../../testing/provided-by.ts";
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
import type { RequestBody } from "../contract/message.ts";
import { memoryStore } from "../../stores/memory/index.ts";
import {
  CommitFailed,
  GivenUp,
  TransactionAborted,
  type RunOptions,
  type TransactionHandle,
  type TransactionRunner,
} from "../contract/transaction.ts";
import type { ClaimRequest, ClaimResult, CompleteRequest, Store } from "../contract/store.ts";
import { sampleOwner } from "../../testing/store-suite/samples.ts";

type Fault = {
  commit?: "lost-after" | "lost-before";
  stale?: boolean;
  complete?: "fail";
  /** The fault of the commit is over after one. */
  once?: boolean;
  /** So many questions after a commit are told that the transaction may be under way still. */
  busy?: number;
  /** The server undid the transaction before COMMIT. */
  aborted?: boolean;
  /** Its connection was shared, and what others wrote on it before was undone with it, once. */
  shared?: boolean;
  /** The runner can take the connection away. */
  givesUp?: boolean;
  open?: number;
  begun?: number;
  /** With what the last one began. */
  options?: RunOptions | undefined;
  /** How transactions ended, in order. */
  ends?: ("committed" | "undone")[];
  /** What happens right after one was undone. */
  afterUndo?: () => Promise<unknown>;
};

/**
 * A database in miniature, so that the engine's own decisions can be tried without one: what a transaction claimed is
 * given back at rollback, what it completed becomes visible at commit. Real databases are tried in `test/effects`.
 */
function database(fault: Fault): { store: (base: Store) => Store; runner: TransactionRunner<string> } {
  let inner: Store;
  interface Open extends TransactionHandle {
    readonly claims: { request: ClaimRequest; fence: number }[];
    readonly completions: CompleteRequest[];
  }
  return {
    store(base) {
      inner = base;
      return {
        ...base,
        capabilities: { ...base.capabilities, transactions: "sqlite", transactionMode: true },
        async claim(request, transaction): Promise<ClaimResult> {
          const result = await base.claim(request);
          if (transaction !== undefined && result.outcome === "granted") {
            (transaction as Open).claims.push({ request, fence: result.fence });
          }
          return result;
        },
        async landed(request) {
          if ((fault.busy ?? 0) === 0) return base.landed(request);
          fault.busy = (fault.busy ?? 0) - 1;
          return "busy";
        },
        async complete(request, transaction) {
          if (transaction === undefined) return base.complete(request);
          if (fault.aborted === true) {
            fault.aborted = false;
            throw new TransactionAborted();
          }
          if (fault.complete === "fail") throw new Error("connection lost");
          if (fault.stale === true) return "stale";
          (transaction as Open).completions.push(request);
          return "ok";
        },
      };
    },
    runner: {
      dialect: "sqlite",
      async run(fn, options) {
        fault.options = options;
        fault.begun = (fault.begun ?? 0) + 1;
        fault.open = (fault.open ?? 0) + 1;
        const given = Promise.withResolvers<never>();
        const handle: Open = {
          dialect: "sqlite",
          execute: async () => ({ rows: [], affected: 0 }),
          claims: [],
          completions: [],
          ...(fault.givesUp === true && { giveUp: () => given.reject(new GivenUp()) }),
        };
        const undo = async (): Promise<void> => {
          for (const { request, fence } of handle.claims) await inner.release({ ...request, fence });
          (fault.ends ??= []).push("undone");
          await fault.afterUndo?.();
        };
        try {
          const value = await Promise.race([fn("tx", handle), given.promise]);
          const { commit } = fault;
          if (fault.once === true) delete fault.commit;
          if (commit === "lost-before") {
            await undo();
            throw new CommitFailed("connection lost");
          }
          for (const request of handle.completions) await inner.complete(request);
          (fault.ends ??= []).push("committed");
          if (commit === "lost-after") throw new CommitFailed("connection lost");
          return value;
        } catch (error) {
          if (!(error instanceof CommitFailed)) await undo();
          if (fault.shared === true) {
            fault.shared = false;
            throw new CommitFailed("connection lost", { shared: true });
          }
          throw error;
        } finally {
          fault.open -= 1;
        }
      },
    },
  };
}

function transactional(fault: Fault = {}, options = {}): Bed {
  const { store, runner } = database(fault);
  return bed({ transactions: runner, leaseMs: 60_000, ...options }, (clock) =>
    store(memoryStore({ nowMs: clock.nowMs, environment: clock.environment })),
  );
}

/** Another process claims the one record that there is. */
async function claimElsewhere(store: Store): Promise<void> {
  const [{ identity, fingerprint } = expect.unreachable()] = (await store.list({ limit: 1 })).records;
  const bounds = { leaseMs: 60_000, retentionMs: 60_000, takeover: "none" } as const;
  await store.claim({ identity, fingerprint, owner: sampleOwner("another"), ...bounds });
}

const route = { mode: "transaction" } as const;
const made = { status: 201, body: { id: 1 } };

describe("transaction mode", () => {
  it("A32 keeps the handler's answer in the commit, and replays it", async () => {
    const fault: Fault = {};
    const { ask, outcomes } = transactional(fault);
    const first = executionOf(await ask({ route }));
    expect(fault.open).toBe(1);
    expect(await answer(first)).toEqual({ kind: "send", addHeaders: [] });
    expect(fault.open).toBe(0);
    expect((await ask({ route })).kind).toBe("replay");
    expect(outcomes(), "which waited for nobody").toEqual(["executed", "replayed"]);
  });

  it("begins with its claim, within the bounds of the engine, and leaves a connection to others", async () => {
    const fault: Fault = {};
    const { ask } = transactional(fault, { storeTimeoutMs: 2_000, executionMs: 9_000 });
    await ask({ route });
    expect(fault.options).toEqual({ opensByHandle: true, callMs: 2_000, idleMs: 9_000, leavesOne: true });
  });

  it("why none begins is told by health() for as long as it is news, so that a process left alone is asked again", async () => {
    const refusing: TransactionRunner<string> = {
      dialect: "sqlite",
      run: () => Promise.reject(new Error("no database")),
    };
    const { ask, ichido, clock } = transactional({}, { transactions: refusing });
    expect(problemIn(await ask({ route }))).toMatchObject({ status: 503, code: "store-unavailable" });
    await clock.advance(59_000);
    expect(await ichido.health()).toMatchObject({ ok: false, store: { problem: { code: "store-unavailable" } } });
    await clock.advance(2_000);
    expect(await ichido.health()).toMatchObject({ ok: true });
  });

  it("a handler that never answers is told of, with the connection that it holds", async () => {
    const { ask, events, clock } = transactional({}, { transactionMs: 600_000 });
    executionOf(await ask({ route }));
    await clock.advance(61_000);
    expect(events.filter((event) => event.type === "warning")).toEqual([
      expect.objectContaining({ code: "handler-silent", message: expect.stringContaining("same pool") as string }),
    ]);
  });

  it("hands the open transaction to ctx.transaction and sends what it returned, verbatim", async () => {
    const { ask } = transactional();
    const first = executionOf(await ask({ route }));
    const seen: unknown[] = [];
    await first.context.transaction((tx: string) => {
      seen.push(tx);
      return made;
    });
    expect(seen).toEqual(["tx"]);
    const sent = await providedBy(first);
    expect(textOf(sent)).toBe('{"id":1}');
    const settled = await answer(first, { status: 200 });
    expect(settled).toEqual({ kind: "replace", response: sent });
    expect(textOf(responseOf(await ask({ route })))).toBe('{"id":1}');
  });

  it.each([
    ["an answer that is kept", 201, {}],
    ["one that is rolled back", 500, {}],
    ["one of ctx.transaction", 202, {}],
    ["503 where COMMIT failed", 503, { commit: "lost-before" }],
  ] as const)("its event has a status as in lease mode: %s", async (what, status, fault) => {
    const { ask, events } = transactional({ ...fault });
    const first = executionOf(await ask({ route }));
    if (what === "one of ctx.transaction") await first.context.transaction(() => ({ status }));
    else await answer(first, { status: status === 503 ? 200 : status });
    expect(events).toContainEqual(expect.objectContaining({ type: "request", outcome: "executed", status }));
  });

  it.each([["a throw"], ["a 5xx"], ["a released status"], ["ctx.release()"], ["a broken connection"]])(
    "%s rolls back, so that the next attempt runs",
    async (what) => {
      const { ask } = transactional({}, { onUnknown: "hold" });
      const first = executionOf(await ask({ route }));
      if (what === "ctx.release()") first.context.release();
      if (what === "a throw") await first.settle({ kind: "threw", error: new Error("x") });
      else if (what === "a broken connection") await first.settle({ kind: "interrupted" });
      else await answer(first, { status: what === "a 5xx" ? 500 : what === "a released status" ? 429 : 200 });
      expect((await ask({ route })).kind).toBe("execute");
    },
  );

  it("refuses other content, and answers a record of lease mode that is in flight", async () => {
    const { ask } = transactional();
    await answer(executionOf(await ask({ route })));
    expect(problemIn(await ask({ route, body: 2 }))).toMatchObject({ code: "idempotency-key-reused" });
    await ask({ key: "leased" });
    const many = await Promise.all([1, 2, 3].map(() => ask({ route, key: "leased" })));
    for (const each of many) expect(problemIn(each)).toMatchObject({ code: "idempotency-in-flight" });
  });

  it("duplicates of one process join the running one on one connection, then replay", async () => {
    const fault: Fault = {};
    const { ask, clock, ichido } = transactional(fault);
    const first = executionOf(await ask({ route }));
    const waiting = Array.from({ length: 20 }, () => ask({ route }));
    await clock.advance(100);
    expect(fault.begun).toBe(1);
    expect((await ichido.health()).running).toBe(1);
    await answer(first);
    await clock.advance(1);
    for (const each of waiting) expect((await each).kind).toBe("replay");
  });

  it("duplicates of a completed key learn of it from one turn, not one after the other", async () => {
    const fault: Fault = {};
    const { ask, clock, outcomes } = transactional(fault);
    await answer(executionOf(await ask({ route })));
    const replay = textOf(responseOf(await ask({ route })));
    fault.begun = 0;
    const many = Array.from({ length: 200 }, () => ask({ route }));
    const other = ask({ route, body: 2 });
    await clock.advance(1);
    for (const each of many) expect(textOf(responseOf(await each))).toBe(replay);
    expect(problemIn(await other)).toMatchObject({ code: "idempotency-key-reused" });
    expect(fault.begun).toBe(2);
    expect(new Set(outcomes()), "none of them waited for a handler").toEqual(
      new Set(["executed", "replayed", "key_reused"]),
    );
  });

  it("an answer that was read in a transaction that failed is not remembered: it may have been undone with it", async () => {
    const fault: Fault = {};
    const { ask, store } = transactional(fault, { replayCache: {} });
    await answer(executionOf(await ask({ route })));
    fault.shared = true;
    expect(problemIn(await ask({ route }))).toMatchObject({ status: 503 });
    const claims = (): number => store.calls.filter((verb) => verb === "claim").length;
    const before = claims();
    expect((await ask({ route })).kind).toBe("replay");
    expect(claims()).toBe(before + 1);
  });

  it("duplicates that waited too long get the in-flight answer", async () => {
    const { ask, clock } = transactional();
    await ask({ route });
    const waiting = ask({ route });
    const brief = ask({ route: { ...route, inFlight: { waitMs: 50 } } });
    await clock.advance(60);
    expect(problemIn(await brief)).toMatchObject({ code: "idempotency-in-flight" });
    await clock.advance(2_000);
    expect(problemIn(await waiting)).toMatchObject({ code: "idempotency-in-flight" });
  });

  it("a runner that throws at once leaves its key free", async () => {
    const { store, runner } = database({});
    let failures = 1;
    const throwing: TransactionRunner<string> = {
      ...runner,
      run(fn, options) {
        if (failures-- > 0) throw new Error("no such pool");
        return runner.run(fn, options);
      },
    };
    const { ask } = bed({ transactions: throwing, leaseMs: 60_000 }, (clock) =>
      store(memoryStore({ nowMs: clock.nowMs, environment: clock.environment })),
    );
    expect(responseOf(await ask({ route })).status).toBe(503);
    expect((await ask({ route })).kind).toBe("execute");
  });

  it("a lost commit answer is resolved by asking: committed means the answer is sent", async () => {
    const { ask } = transactional({ commit: "lost-after" });
    expect(await answer(executionOf(await ask({ route })))).toEqual({ kind: "send", addHeaders: [] });
    expect((await ask({ route })).kind).toBe("replay");
  });

  it("a lost commit answer is resolved by asking: not committed means 503, and the retry runs", async () => {
    const fault: Fault = { commit: "lost-before" };
    const { ask } = transactional(fault);
    const settled = await answer(executionOf(await ask({ route })));
    expect(settled.kind === "replace" && settled.response.status).toBe(503);
    delete fault.commit;
    expect((await ask({ route })).kind).toBe("execute");
  });

  it.each([201, 409])("an answer of %d whose commit was lost is not kept: it may speak of writes", async (status) => {
    const { ask } = transactional({ commit: "lost-before", once: true });
    const settled = await answer(executionOf(await ask({ route })), { status });
    expect(settled.kind === "replace" && settled.response.status).toBe(503);
    expect((await ask({ route })).kind).toBe("execute");
  });

  it.each([
    [409, "send", "replay"],
    [201, "replace", "execute"],
  ] as const)("undone by the server before COMMIT: an answer of %d means %s", async (status, kind, then) => {
    const { ask } = transactional({ aborted: true });
    expect((await answer(executionOf(await ask({ route })), { status })).kind).toBe(kind);
    expect((await ask({ route })).kind).toBe(then);
  });

  it("a refusal after a body that threw is kept by itself, unless another attempt has overtaken it", async () => {
    for (const [stale, kind] of [
      [false, "send"],
      [true, "replace"],
    ] as const) {
      const fault: Fault = {};
      const { ask } = transactional(fault);
      const first = executionOf(await ask({ route }));
      const thrown = first.context.transaction(() => Promise.reject(new Error("sold out")));
      await expect(thrown).rejects.toThrow("sold out");
      fault.stale = stale;
      expect((await answer(first, { status: 409 })).kind).toBe(kind);
    }
  });

  it("what a body wrote before it threw is undone, though the refusal that was made of that is kept", async () => {
    const fault: Fault = {};
    const { ask } = transactional(fault);
    const first = executionOf(await ask({ route }));
    await first.context.transaction(() => Promise.reject(new Error("sold out"))).catch(() => undefined);
    expect((await answer(first, { status: 409 })).kind).toBe("send");
    expect(fault.ends).toEqual(["undone", "committed"]);
    expect(responseOf(await ask({ route })).status).toBe(409);
  });

  it("a refusal is not kept in the place of another attempt, which began when its own writes were undone", async () => {
    const fault: Fault = {};
    const { ask, store, events } = transactional(fault);
    const first = executionOf(await ask({ route }));
    await first.context.transaction(() => Promise.reject(new Error("sold out"))).catch(() => undefined);
    fault.afterUndo = () => claimElsewhere(store);
    const settled = await answer(first, { status: 409 });
    expect(settled).toMatchObject({ kind: "replace", response: { status: 409 } });
    if (settled.kind === "replace") expect(textOf(settled.response)).toContain("idempotency-in-flight");
    expect(events).toContainEqual(expect.objectContaining({ type: "fence-rejected", verb: "complete" }));
  });

  it("a transaction that the server undid itself is not asked about, in lease mode neither", async () => {
    const { ask, store } = transactional({ aborted: true });
    const first = executionOf(await ask());
    await expect(first.context.transaction(() => made)).rejects.toThrow(/undoes the whole transaction/);
    expect(await first.context.transaction(() => made)).toEqual(made);
    expect(store.calls).not.toContain("landed");
  });

  it("counts what it runs in observe mode as observed", async () => {
    const { ask, events } = transactional({}, { enforce: false });
    await answer(executionOf(await ask({ route })));
    expect(events.filter((event) => event.type === "request")).toEqual([
      expect.objectContaining({ outcome: "executed", observed: true }),
    ]);
  });

  it("a body whose commit failed is told so", async () => {
    const { ask } = transactional({ commit: "lost-before" });
    const first = executionOf(await ask({ route }));
    await expect(first.context.transaction(() => made)).rejects.toThrow("connection lost");
    expect((await providedBy(first)).status).toBe(503);
    expect(await answer(first), "whatever the handler makes of that").toMatchObject({
      kind: "replace",
      response: { status: 503 },
    });
  });

  it("an answer while the body runs ends nothing: the transaction ends with the body, and keeps nothing", async () => {
    const fault: Fault = {};
    const { ask } = transactional(fault);
    for (const [status, kind] of [
      [503, "send"],
      [201, "replace"],
    ] as const) {
      const first = executionOf(await ask({ route }));
      const gate = Promise.withResolvers<typeof made>();
      const body = first.context.transaction(() => gate.promise);
      body.catch(() => undefined);
      const settled = await answer(first, { status });
      expect(settled.kind).toBe(kind);
      if (settled.kind === "replace") {
        expect(JSON.parse(textOf(settled.response))).toMatchObject({ status: 503, code: "idempotency-in-flight" });
      }
      expect(fault.open).toBe(1);
      await expect(first.context.transaction(() => made)).rejects.toMatchObject({ code: "usage-invalid" });
      gate.resolve(made);
      await expect(body).rejects.toMatchObject({
        code: "transaction-aborted",
        message: expect.stringContaining("answered") as string,
      });
      // Whatever the handler makes of that is not final either.
      expect((await answer(first, { status: 201 })).kind).toBe("replace");
    }
    expect((await ask({ route })).kind).toBe("execute");
  });

  it("a body that throws after another answer undoes the transaction all the same", async () => {
    const fault: Fault = {};
    const { ask } = transactional(fault);
    const first = executionOf(await ask({ route }));
    const gate = Promise.withResolvers<typeof made>();
    const body = first.context.transaction(() => gate.promise);
    body.catch(() => undefined);
    await answer(first, { status: 503 });
    expect(fault.open).toBe(1);
    gate.reject(new Error("boom"));
    await expect(body).rejects.toThrow("boom");
    await Promise.resolve();
    expect((await ask({ route })).kind).toBe("execute");
    expect(fault.begun).toBe(2);
  });

  it("its record tells of what was committed; what was not is told by a note", async () => {
    const { ask, store, clock } = transactional();
    await answer(executionOf(await ask({ route, key: "kept" })));
    await answer(executionOf(await ask({ route, key: "undone" })), { status: 500 });
    await clock.advance(1_000);
    const told = (await store.follow({ limit: 10 })).entries.map(({ record, status }) => [record.key, status]);
    expect(Object.fromEntries(told)).toEqual({ kept: 201, undone: 500 });
    const { records } = await store.list({ key: "kept", limit: 1 });
    const [run] = await store.attempts(records[0]?.identity ?? expect.fail());
    expect(run).toMatchObject({ number: 0, status: 201, attempt: 1 });
  });

  it("what is still under way once it is over is told so by its signal", async () => {
    const { ask, ichido } = transactional();
    const first = executionOf(await ask({ route }));
    const { signal } = first.context;
    expect([signal.aborted, (await ichido.health()).running]).toEqual([false, 1]);
    await answer(first);
    expect([signal.aborted, (await ichido.health()).running]).toEqual([true, 0]);
    expect(signal.reason).toMatchObject({
      code: "transaction-aborted",
      message: "the transaction of this attempt is over",
    });
  });

  it("an answer that was not stored is told of with its reason, and no other", async () => {
    const stored = transactional();
    await answer(executionOf(await stored.ask({ route })));
    expect(stored.events.filter(({ type }) => type === "not-stored")).toEqual([]);
    const lost = transactional({ commit: "lost-before" });
    await answer(executionOf(await lost.ask({ route })));
    expect(lost.events).toContainEqual(
      expect.objectContaining({ type: "not-stored", error: expect.any(CommitFailed) as unknown }),
    );
    const stale = transactional({ stale: true });
    await answer(executionOf(await stale.ask({ route })));
    expect(stale.events).toContainEqual(expect.objectContaining({ type: "fence-rejected", verb: "complete" }));
  });

  it("no body begins once the transaction is decided on", async () => {
    const { ask } = transactional();
    const first = executionOf(await ask({ route }));
    const settling = answer(first);
    await expect(first.context.transaction(() => made)).rejects.toMatchObject({ code: "usage-invalid" });
    expect((await settling).kind).toBe("send");
  });

  it.each([true, false])("a body past executionMs is answered 503 (its connection taken away: %s)", async (givesUp) => {
    const fault: Fault = { givesUp };
    const { ask, clock, events } = transactional(fault, { executionMs: 1_000 });
    const first = executionOf(await ask({ route }));
    const gate = Promise.withResolvers<typeof made>();
    const body = first.context.transaction(() => gate.promise);
    body.catch(() => undefined);
    await clock.advance(1_500);
    const told = JSON.parse(textOf(await providedBy(first))) as unknown;
    expect(told).toMatchObject({ status: 503, code: "idempotency-in-flight", retryable: true, retryAfter: 1 });
    expect(first.context.signal.aborted).toBe(true);
    expect(events).toContainEqual(
      expect.objectContaining({ code: "transaction-overdue", message: expect.stringContaining("(1000)") as string }),
    );
    expect(fault.open).toBe(givesUp ? 0 : 1);
    gate.resolve(made);
    await expect(body).rejects.toThrow();
    await clock.advance(1);
    expect(fault.open).toBe(0);
    expect((await ask({ route })).kind).toBe("execute");
  });

  it("a new record is in no doubt: nothing is asked, and no takeover is told of", async () => {
    let asked = 0;
    const verify = (): { verdict: "absent" } => {
      asked += 1;
      return { verdict: "absent" };
    };
    const { ask, events } = transactional({}, { onUnknown: { verify } });
    await answer(executionOf(await ask({ route })));
    expect(asked).toBe(0);
    expect(events.filter(({ type }) => type === "takeover")).toEqual([]);
  });

  it("a record in doubt is verified before anything runs; while it cannot be told, it stays in doubt", async () => {
    let verdict: "not-visible-yet" | "absent" = "not-visible-yet";
    const { ask, clock, store } = transactional({}, { onUnknown: { verify: () => ({ verdict }) }, leaseMs: 1_000 });
    await ask({ route: { mode: "lease" } });
    await clock.advance(20 * 60_000);
    expect(problemIn(await ask({ route }))).toMatchObject({ code: "outcome-unknown" });
    await clock.advance(1_000);
    expect(store.calls, "what was granted to be noted was given back at once").not.toContain("find");
    verdict = "absent";
    expect((await ask({ route })).kind).toBe("execute");
  });

  it("a record in doubt whose answer is found gets it, with the commit, and no handler runs", async () => {
    const fault: Fault = {};
    const verify = () => ({ verdict: "found", response: { status: 202, body: { id: 7 } } }) as const;
    const { ask, clock, outcomes } = transactional(fault, { onUnknown: { verify }, leaseMs: 1_000 });
    await ask({ route: { mode: "lease" } });
    await clock.advance(20 * 60_000);
    const before = outcomes().length;
    for (let time = 0; time < 2; time += 1) {
      const told = await ask({ route });
      expect([told.kind, textOf(responseOf(told))]).toEqual(["replay", '{"id":7}']);
    }
    expect(fault.ends).toEqual(["committed", "undone"]);
    expect(outcomes().slice(before)).toEqual(["replayed", "replayed"]);
  });

  it("what its claim notes of a doubt that waits for a person is committed, though nothing runs", async () => {
    const fault: Fault = {};
    const { ask, clock } = transactional(fault, { onUnknown: "hold", leaseMs: 1_000 });
    await ask({ route: { mode: "lease" } });
    await clock.advance(20 * 60_000);
    expect(problemIn(await ask({ route }))).toMatchObject({ code: "outcome-unknown" });
    expect(fault.ends).toEqual(["committed"]);
  });

  it("what is claimed only to be noted, and cannot be given back at once, is given back later", async () => {
    const verify = (): { verdict: "not-visible-yet" } => ({ verdict: "not-visible-yet" });
    const { ask, clock, store } = transactional({}, { onUnknown: { verify }, leaseMs: 1_000 });
    await ask({ route: { mode: "lease" } });
    await clock.advance(20 * 60_000);
    store.break("release", "fail", 1);
    expect(problemIn(await ask({ route }))).toMatchObject({ code: "outcome-unknown" });
    await clock.advance(500);
    expect((await store.list({ limit: 1 })).records).toMatchObject([{ state: "failed" }]);
  });

  it("what a copy of the claim that noted a doubt takes is given back", async () => {
    const { make, copies } = copying();
    const { store, runner } = database({});
    const onUnknown = { verify: () => ({ verdict: "not-visible-yet" }) as const };
    const all = bed({ transactions: runner, leaseMs: 1_000, onUnknown }, (clock) => store(make(clock)));
    await all.ask({ route: { mode: "lease" } });
    await all.clock.advance(20 * 60_000);
    expect(problemIn(await all.ask({ route }))).toMatchObject({ code: "outcome-unknown" });
    await copies.at(-1)?.();
    const stateOf = async () => (await all.store.list({ limit: 1 })).records[0]?.state;
    expect(await stateOf()).toBe("processing");
    await all.clock.advance(30_000);
    expect(await stateOf()).toBe("failed");
  });

  it("what was not granted as it was to be noted is not given back: another attempt has it", async () => {
    const fault: Fault = {};
    const verify = (): { verdict: "not-visible-yet" } => ({ verdict: "not-visible-yet" });
    const { ask, clock, store, ichido } = transactional(fault, { onUnknown: { verify }, leaseMs: 1_000 });
    await ask({ route: { mode: "lease" } });
    await clock.advance(20 * 60_000);
    fault.afterUndo = () => claimElsewhere(store);
    expect(problemIn(await ask({ route }))).toMatchObject({ code: "outcome-unknown" });
    expect(store.calls).not.toContain("release");
    let isClosed = false;
    void ichido.close().then(() => (isClosed = true));
    await clock.advance(1);
    expect(isClosed, "closing waits for no claim").toBe(true);
  });

  it("a doubt is not noted once closing is over: nobody would give it back", async () => {
    const verdict = Promise.withResolvers<{ verdict: "not-visible-yet" }>();
    const verify = () => verdict.promise;
    const all = transactional({}, { onUnknown: { verify }, leaseMs: 1_000, verifyMs: 60_000, closeMs: 1_000 });
    await all.ask({ route: { mode: "lease" } });
    await all.clock.advance(20 * 60_000);
    const asked = all.ask({ route });
    const closing = all.ichido.close();
    await all.clock.advance(3_000);
    await closing;
    const calls = all.store.calls.length;
    verdict.resolve({ verdict: "not-visible-yet" });
    await all.clock.advance(1);
    expect(problemIn(await asked)).toMatchObject({ code: "outcome-unknown" });
    expect(all.store.calls.slice(calls)).not.toContain("claim");
  });

  it("a doubt that cannot be noted lets no route run without the store", async () => {
    const verify = (): { verdict: "not-visible-yet" } => {
      all.store.break("claim", "fail", 1);
      return { verdict: "not-visible-yet" };
    };
    const all = transactional({}, { onUnknown: { verify }, leaseMs: 1_000 });
    executionOf(await all.ask({ route: { mode: "lease" } }));
    all.store.break("renew", "fail");
    await all.clock.advance(5_000);
    const decision = await all.ask({ route: { ...route, dangerouslyRunWithoutStore: true } });
    expect(problemIn(decision)).toMatchObject({ status: 503 });
  });

  it("an outcome of lease mode, in this process, goes before it", async () => {
    const all = transactional({}, { leaseMs: 1_000 });
    const first = executionOf(await all.ask({ route: { mode: "lease" } }));
    for (const verb of ["claim", "renew", "complete", "find"] as const) all.store.break(verb, "fail");
    await answer(first);
    await all.clock.advance(5_000);
    all.store.mend();
    expect((await all.ask({ route })).kind).toBe("replay");
  });

  it("while somebody else is at work it is asked again, for a while", async () => {
    for (const [busy, status] of [
      [2, "send"],
      [99, "replace"],
    ] as const) {
      const fault: Fault = { commit: "lost-after", once: true, busy };
      const { ask, clock } = transactional(fault);
      const settling = answer(executionOf(await ask({ route })));
      for (let pause = 0; pause < 20; pause += 1) await clock.advance(500);
      expect((await settling).kind).toBe(status);
    }
  });

  it("when nobody can be asked, the caller is told 503 and nothing is pretended", async () => {
    const { ask, store, clock } = transactional({ commit: "lost-after" });
    const first = executionOf(await ask({ route }));
    store.break("landed", "fail");
    const settling = answer(first);
    for (let pause = 0; pause < 20; pause += 1) await clock.advance(500);
    const settled = await settling;
    expect(settled.kind === "replace" && settled.response.status).toBe(503);
  });

  it("a completion that fails means 503; one that is stale is answered from the record", async () => {
    const failing = transactional({ complete: "fail" });
    const failed = await answer(executionOf(await failing.ask({ route })));
    expect(failed.kind === "replace" && failed.response.status).toBe(503);
    const overtaken = transactional({ stale: true });
    const stale = await answer(executionOf(await overtaken.ask({ route })));
    expect(stale, "which has neither its answer nor another one").toMatchObject({
      kind: "replace",
      response: { status: 503 },
    });
    expect(overtaken.events).toContainEqual(expect.objectContaining({ type: "fence-rejected" }));
  });

  it("a store that fails at the claim means 503, and nothing runs", async () => {
    const { ask, store } = transactional();
    store.break("claim", "fail");
    expect(problemIn(await ask({ route }))).toMatchObject({ status: 503, code: "store-unavailable" });
  });

  it("a fault before the handler gives everything back", async () => {
    let armed = true;
    const { ask } = transactional(
      {},
      {
        faults: (name: string) => {
          if (name === "before-handler" && armed) throw new Error("boom");
        },
      },
    );
    expect(problemIn(await ask({ route }))).toMatchObject({ status: 503 });
    armed = false;
    expect((await ask({ route })).kind).toBe("execute");
  });

  it("an answer above the cap, or a stream, is remembered by a tombstone; a released stream by nothing", async () => {
    const { ask } = transactional({}, { bodyBytesMax: 4 });
    await answer(executionOf(await ask({ route })));
    expect(problemIn(await ask({ route }))).toMatchObject({ code: "response-not-stored" });
    const streamed = executionOf(await ask({ route, key: "s" }));
    expect((await streamed.beginStream({ status: 200, headers: [] })).kind).toBe("send");
    expect(problemIn(await ask({ route, key: "s" }))).toMatchObject({ code: "response-not-stored" });
    const limited = executionOf(await ask({ route, key: "l" }));
    await limited.beginStream({ status: 429, headers: [] });
    expect((await ask({ route, key: "l" })).kind).toBe("execute");
  });

  it("steps, open outcomes and own commits belong to lease mode", async () => {
    const { ask } = transactional();
    const { context } = executionOf(await ask({ route }));
    for (const [name, refused] of [
      ["ctx.step", context.step("a", () => 1)],
      ["ctx.unknown", context.unknown({ status: 202 })],
      ["ctx.complete", context.complete({} as never, made)],
    ] as const) {
      await expect(refused).rejects.toMatchObject({
        code: "usage-invalid",
        message: expect.stringMatching(new RegExp(`^${name} belongs to lease mode: .* Set mode: "lease"`)) as string,
      });
    }
    expect(context.reference("bank")).toHaveLength(40);
  });

  it("a handler that never ends does not hold its connection for ever", async () => {
    const fault: Fault = {};
    const { ask, clock } = transactional(fault, { executionMs: 1_000 });
    await ask({ route });
    await clock.advance(1_500);
    expect(fault.open).toBe(0);
    expect((await ask({ route })).kind).toBe("execute");
  });

  it("nothing begins once closing is over, however long a body was waited for", async () => {
    const all = transactional({}, { closeMs: 1_000 });
    const body = Promise.withResolvers<RequestBody>();
    const asked = all.ask({ route, readBody: () => body.promise });
    const closing = all.ichido.close();
    await all.clock.advance(2_000);
    await closing;
    body.resolve({ kind: "bytes", bytes: new TextEncoder().encode("{}") });
    expect(problemIn(await asked)).toMatchObject({ code: "idempotency-in-flight" });
  });

  it("nothing begins once closing is over, behind a transaction that outlasts it", async () => {
    const fault: Fault = {};
    const all = transactional(fault, { closeMs: 1_000 });
    const slow = { ...route, inFlight: { waitMs: 60_000 } } as const;
    const first = executionOf(await all.ask({ route: slow }));
    const second = all.ask({ route: slow });
    const closing = all.ichido.close();
    await all.clock.advance(3_000);
    await closing;
    await answer(first, { status: 429 });
    await all.clock.advance(10);
    expect((await second).kind).toBe("reject");
    expect(fault.begun).toBe(1);
  });

  it("closing waits for open transactions", async () => {
    const { ask, ichido, clock } = transactional();
    const first = executionOf(await ask({ route }));
    let closed = false;
    const closing = ichido.close().then(() => (closed = true));
    await clock.advance(50);
    expect(closed).toBe(false);
    await answer(first);
    await clock.advance(1);
    await closing;
  });

  it("run works in lease mode beside it, and a route cannot ask for it without a runner or a fitting store", async () => {
    expect(() => bed().ichido.route({ operation: "a", mode: "transaction" })).toThrow("option mode");
    const { runner } = database({});
    const unfit = bed({ transactions: runner }, (clock) => {
      const base = memoryStore({ nowMs: clock.nowMs });
      return { ...base, capabilities: { ...base.capabilities, transactions: "sqlite" } };
    });
    expect(() => unfit.ichido.route({ operation: "a", mode: "transaction" })).toThrow("option mode");
  });
});
