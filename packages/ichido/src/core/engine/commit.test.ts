import { describe, expect, it } from "vitest";
import { providedBy } from "../../testing/provided-by.ts";
import {
  answer,
  bed,
  executionOf,
  problemIn,
  responseOf,
  textOf,
  type Bed,
} from "../../../../../test/support/engine-bed.ts";
import { DeadlineExceeded } from "../contract/deadline.ts";
import type { Execution, Presenter, Settled } from "../contract/decision.ts";
import { memoryStore } from "../../stores/memory/index.ts";
import { CommitFailed, type TransactionHandle, type TransactionRunner } from "../contract/transaction.ts";
import type { CompleteRequest, Landed, Store } from "../contract/store.ts";

/**
 * A database in miniature: completions on its handle become visible in the store at commit. What real databases do with
 * it is proven in `test/`; here it is about what the engine believes.
 */
function joined(fault: { commit?: "lost-after" | "lost-before" }): {
  store: (bed: Store) => Store;
  runner: TransactionRunner<string>;
} {
  let staged: CompleteRequest[] = [];
  let inner: Store | undefined;
  const handle: TransactionHandle = { dialect: "sqlite", execute: async () => ({ rows: [], affected: 0 }) };
  return {
    store(base) {
      inner = base;
      return {
        ...base,
        capabilities: { ...base.capabilities, transactions: "sqlite" },
        async complete(request, transaction) {
          if (transaction === undefined) return base.complete(request);
          const record = await base.find(request.identity);
          if (record?.owner !== request.owner || record.fence !== request.fence) return "stale";
          staged.push(request);
          return "ok";
        },
      };
    },
    runner: {
      dialect: "sqlite",
      async run(fn) {
        staged = [];
        const value = await fn("tx", handle);
        if (fault.commit === "lost-before") throw new CommitFailed("connection lost");
        for (const request of staged) await inner?.complete(request);
        if (fault.commit === "lost-after") throw new CommitFailed("connection lost");
        return value;
      },
    },
  };
}

function transactional(fault: { commit?: "lost-after" | "lost-before" } = {}, options = {}): Bed {
  const { store, runner } = joined(fault);
  return bed({ transactions: runner, leaseMs: 1_000, ...options }, (clock) =>
    store(memoryStore({ nowMs: clock.nowMs, environment: clock.environment })),
  );
}

const made = { status: 201, headers: { location: "/p/1" }, body: { id: 1 } };
const written = new TextEncoder().encode("by the framework");

describe("ctx.transaction", () => {
  it("rejects with an error that has a code and a status where no connection was to be had", async () => {
    const none: TransactionRunner<string> = {
      dialect: "sqlite",
      run: () => Promise.reject(new DeadlineExceeded("no connection of the pool was free within 10 ms")),
    };
    const { ask } = transactional({}, { transactions: none });
    const first = executionOf(await ask());
    await expect(first.context.transaction(() => made)).rejects.toMatchObject({
      code: "store-unavailable",
      status: 503,
      message: expect.stringContaining("no connection of the pool was free") as string,
    });
    // Nothing was stored by it: the attempt may try again, or answer by itself.
    expect(await answer(first, { status: 200 })).toMatchObject({ kind: "send" });
  });

  it("A32 stores the answer in the commit and sends it verbatim; what else is written is not sent", async () => {
    const { ask } = transactional();
    const first = executionOf(await ask());
    expect(
      await first.context.transaction((tx: string) => ({ ...made, headers: { location: `/${tx}` } })),
    ).toMatchObject({ status: 201 });
    const sent = await providedBy(first);
    expect(textOf(sent)).toBe('{"id":1}');
    const settled = await answer(first, { status: 200 });
    expect(settled).toEqual({ kind: "replace", response: sent });
    const replay = responseOf(await ask());
    expect(textOf(replay)).toBe(textOf(sent));
    expect(replay.headers).toContainEqual(["location", "/tx"]);
  });

  it("a step of a branch that was noted before its answer is still made: no other attempt would", async () => {
    const { ask, store, clock } = transactional();
    const first = executionOf(await ask());
    store.break("startStep", "late", 1);
    let calls = 0;
    const branch = first.context.step("email", () => (calls += 1)).catch((error: Error) => error.name);
    await clock.advance(1);
    await first.context.transaction(() => made);
    store.arrive();
    expect(await branch, "the record takes no result any more").toBe("FenceLost");
    expect(calls).toBe(1);
    expect(textOf(responseOf(await ask()))).toBe('{"id":1}');
  });

  it("its runner is told how long each part may take, and to leave a connection to others", async () => {
    const { runner, store } = joined({});
    let told: unknown;
    const transactions: TransactionRunner<string> = {
      ...runner,
      run: (fn, options) => {
        told = options;
        return runner.run(fn, options);
      },
    };
    const { ask } = bed({ transactions, storeTimeoutMs: 700, executionMs: 90_000 }, ({ nowMs, environment }) =>
      store(memoryStore({ nowMs, environment })),
    );
    await executionOf(await ask()).context.transaction(() => made);
    expect(told).toEqual({ callMs: 700, idleMs: 90_000, leavesOne: true });
  });

  it("the log has no note of what its record tells, and has one of what was left open", async () => {
    const { ask, clock, store } = transactional();
    const attemptsOf = async (key: string) => {
      await clock.advance(1_000);
      const [record = expect.fail()] = (await store.list({ key, limit: 1 })).records;
      return (await store.attempts(record.identity)).map(({ status, number }) => [status, number]);
    };
    await executionOf(await ask()).context.transaction(() => made);
    expect(await attemptsOf("key-1")).toEqual([[201, 0]]);
    await executionOf(await ask({ key: "key-2" })).context.unknown({ status: 202 });
    expect(await attemptsOf("key-2")).toEqual([[202, 2]]);
  });

  it("everyone who listens for its answer is told once, whether they came before it or after", async () => {
    const { ask } = transactional();
    const first = executionOf(await ask());
    const told: string[] = [];
    const listen = (who: string): void => first.onProvided((response) => told.push(`${who} ${textOf(response)}`));
    listen("one");
    listen("two");
    await first.context.transaction(() => made);
    listen("late");
    expect(told, "never before onProvided returns").not.toContain('late {"id":1}');
    await answer(first);
    expect(told).toEqual(['one {"id":1}', 'two {"id":1}', 'late {"id":1}']);
  });

  it.each([
    ["rerun runs again", "rerun"],
    ["hold holds, since nobody knows of calls made beside it", "hold"],
  ] as const)("a body that throws rolls back; %s", async (_, onUnknown) => {
    const { ask } = transactional({}, { onUnknown });
    const first = executionOf(await ask());
    const failed = first.context.transaction(() => {
      throw new Error("constraint");
    });
    await expect(failed).rejects.toThrow("constraint");
    await answer(first, { status: 500 });
    const next = await ask();
    if (onUnknown === "rerun") expect(executionOf(next).context.attempt).toBe(2);
    else expect(problemIn(next)).toMatchObject({ code: "outcome-unknown", retryable: false });
  });

  it.each([
    ["is lost to whoever waits for its answer to be written", "complete", 1],
    ["is not lost to whoever has written its answer, and waits for COMMIT", "commit", 0],
  ] as const)("a record that is another's %s", async (_, waitsFor, losses) => {
    const { store, runner } = joined({});
    const way = Promise.withResolvers<void>();
    const { ask, clock, events } = bed(
      {
        leaseMs: 1_000,
        transactions: {
          ...runner,
          run: async (fn) => {
            await runner.run(fn);
            if (waitsFor === "commit") await way.promise;
          },
        } as TransactionRunner<string>,
      },
      ({ nowMs, environment }) => {
        const base = store(memoryStore({ nowMs, environment }));
        return {
          ...base,
          renew: async (requests) => requests.map(() => "stale" as const),
          complete: async (...given) => {
            if (waitsFor === "complete") await way.promise;
            return base.complete(...given);
          },
        };
      },
    );
    const first = executionOf(await ask());
    const running = first.context.transaction(() => made);
    await clock.advance(400);
    expect(events.filter(({ type }) => type === "lease-lost")).toHaveLength(losses);
    way.resolve();
    await running;
  });

  it("an answer that is refused before anything was sent does not use up the attempt", async () => {
    const { ask } = transactional();
    const first = executionOf(await ask());
    const handle: TransactionHandle = { dialect: "sqlite", execute: async () => ({ rows: [], affected: 0 }) };
    await expect(first.context.complete(handle, { status: 99 })).rejects.toThrow("status");
    await first.context.complete(handle, made);
  });

  it("a body that was given up and ends late does not hide the transaction that came after it", async () => {
    let store: Store | undefined;
    const commits = Promise.withResolvers<void>();
    // What is given up rejects, and its handle refuses from then on. The completion shows at COMMIT.
    const runner: TransactionRunner<string> = {
      dialect: "sqlite",
      async run(fn) {
        const given = Promise.withResolvers<never>();
        const staged: CompleteRequest[] = [];
        let isOver = false;
        const handle = {
          dialect: "sqlite",
          execute: async () => ({ rows: [], affected: 0 }),
          giveUp() {
            isOver = true;
            given.reject(new Error("given up"));
          },
          stage(request: CompleteRequest) {
            if (isOver) throw new Error("not in a transaction");
            staged.push(request);
          },
        } as unknown as TransactionHandle;
        const value = await Promise.race([given.promise, fn("tx", handle)]);
        await commits.promise;
        for (const request of staged) await store?.complete(request);
        return value;
      },
    };
    const all = bed({ transactions: runner, transactionMs: 500, leaseMs: 30_000 }, ({ nowMs, environment }) => {
      const base = memoryStore({ nowMs, environment });
      store = base;
      return {
        ...base,
        capabilities: { ...base.capabilities, transactions: "sqlite" },
        async complete(request, transaction) {
          if (transaction === undefined) return base.complete(request);
          (transaction as unknown as { stage(request: CompleteRequest): void }).stage(request);
          return "ok";
        },
      };
    });
    const execution = executionOf(await all.ask());
    const slow = Promise.withResolvers<{ status: number }>();
    const first = execution.context.transaction(() => slow.promise);
    first.catch(() => undefined);
    await all.clock.advance(600);
    await expect(first).rejects.toThrow("given up");
    // Tried again, by a branch that nobody awaits.
    execution.context.transaction(() => ({ status: 201, body: { id: 2 } })).catch(() => undefined);
    await all.clock.advance(10);
    slow.resolve({ status: 201 });
    await all.clock.advance(10);
    const settled = answer(execution, { status: 200 });
    await all.clock.advance(10);
    commits.resolve();
    await all.clock.advance(10);
    expect((await settled).kind).toBe("replace");
    expect(textOf(responseOf(await all.ask()))).toBe('{"id":2}');
  });

  it("a lost commit answer is resolved by asking the record: committed", async () => {
    const { ask } = transactional({ commit: "lost-after" });
    const first = executionOf(await ask());
    expect(await first.context.transaction(() => made)).toEqual(made);
    expect((await providedBy(first)).status).toBe(201);
    expect((await ask()).kind).toBe("replay");
  });

  it("a lost commit answer is resolved by asking the record: not committed, and the same attempt may try again", async () => {
    const fault: { commit?: "lost-before" | "lost-after" } = { commit: "lost-before" };
    const { ask } = transactional(fault);
    const first = executionOf(await ask());
    await expect(first.context.transaction(() => made)).rejects.toThrow("connection lost");
    delete fault.commit;
    await first.context.transaction(() => made);
    expect((await providedBy(first)).status).toBe(201);
    expect((await ask()).kind).toBe("replay");
  });

  it("when the record cannot be asked, the outcome stays open", async () => {
    const { ask, store, clock } = transactional({ commit: "lost-after" }, { onUnknown: "hold" });
    const first = executionOf(await ask());
    const pending = first.context.transaction(() => made);
    pending.catch(() => undefined);
    store.break("landed", "fail");
    await clock.advance(10_000);
    await expect(pending).rejects.toThrow();
    store.mend();
    expect((await ask()).kind).toBe("replay");
  });

  /** A transaction that lost its commit answer and whose record tells, question by question. */
  function asking(tell: (landed: Landed, ask: number) => Landed, options = {}): Bed {
    const { store, runner } = joined({ commit: "lost-after" });
    return bed({ transactions: runner, ...options }, (clock) => {
      const inner = store(memoryStore({ nowMs: clock.nowMs, environment: clock.environment }));
      let asks = 0;
      return { ...inner, landed: async (request) => tell(await inner.landed(request), (asks += 1)) };
    });
  }

  it("R8 while the lost transaction still holds the row, the record is asked again", async () => {
    const { ask, clock } = asking((landed, at) => (at <= 2 ? "busy" : landed));
    const first = executionOf(await ask());
    const pending = first.context.transaction(() => made);
    await clock.advance(1_000);
    expect(await pending).toEqual(made);
    expect((await providedBy(first)).status).toBe(201);
  });

  it.each(["busy", "lost"] as const)(
    "R8 a record that stays %s means that the outcome is not ours to tell, and that this attempt writes no more",
    async (told) => {
      const { ask, clock } = asking(() => told);
      const first = executionOf(await ask());
      const pending = first.context.transaction(() => made);
      pending.catch(() => undefined);
      await clock.advance(10_000);
      await expect(pending).rejects.toThrow("connection lost");
      expect((await providedBy(first)).headers).toContainEqual(["idempotency-replayed", "true"]);
      await expect(first.context.transaction(() => made)).rejects.toMatchObject({ code: "usage-invalid" });
    },
  );

  it("R8 the question whether a commit landed is answered late: the attempt that runs keeps its key", async () => {
    const { store: wrap, runner } = joined({ commit: "lost-before" });
    const { ask, store, clock } = bed({ transactions: runner, storeTimeoutMs: 200, onUnknown: "hold" }, (clock) =>
      wrap(memoryStore({ nowMs: clock.nowMs, environment: clock.environment })),
    );
    const first = executionOf(await ask());
    store.break("landed", "late");
    const pending = first.context.transaction(() => made);
    pending.catch(() => undefined);
    await clock.advance(1_000);
    await expect(pending).rejects.toThrow("connection lost");
    store.arrive();
    store.mend();
    await clock.advance(1);
    expect(store.calls.filter((verb) => verb === "release" || verb === "suspend")).toEqual([]);
    expect(problemIn(await ask())).toMatchObject({ code: "idempotency-in-flight" });
  });

  /** A framework that writes its own bytes for what `ctx.transaction` returns; they are settled like any answer. */
  function presented(execution: Execution): Promise<Settled> {
    const { promise, resolve } = Promise.withResolvers<Settled>();
    const present: Presenter["present"] = ({ status }) => {
      resolve(execution.settle({ kind: "answered", response: { status, headers: [], body: written } }));
      return true;
    };
    execution.presenter = { present };
    return promise;
  }

  it("what the framework writes is sent once it is committed", async () => {
    const { ask } = transactional();
    const first = executionOf(await ask());
    const settled = presented(first);
    await first.context.transaction(() => made);
    expect(await settled).toEqual({ kind: "replace", response: { status: 201, headers: [], body: written } });
    expect(textOf(responseOf(await ask()))).toBe("by the framework");
  });

  it.each([
    ["rerun", "store-unavailable", { state: "failed" }],
    ["hold", "outcome-unknown", { state: "unknown", holdReason: "the transaction was not committed" }],
  ] as const)("what the framework wrote is not sent where it is not committed: %s", async (onUnknown, code, left) => {
    const { ask, store } = transactional({ commit: "lost-before" }, { onUnknown });
    const first = executionOf(await ask());
    const settled = presented(first);
    await expect(first.context.transaction(() => made)).rejects.toThrow("connection lost");
    const told = await settled;
    if (told.kind !== "replace") return expect.unreachable(told.kind);
    expect(JSON.parse(textOf(told.response))).toMatchObject({ code });
    expect((await store.list({ limit: 1 })).records).toMatchObject([left]);
  });

  it("R8 nor is the key given back under it where nobody can tell", async () => {
    const { ask, clock, store } = asking(() => "busy");
    const first = executionOf(await ask());
    const settled = presented(first);
    const pending = first.context.transaction(() => made);
    pending.catch(() => undefined);
    await clock.advance(10_000);
    await expect(pending).rejects.toThrow("connection lost");
    expect((await settled).kind).toBe("replace");
    expect(store.calls.filter((verb) => verb === "release" || verb === "suspend")).toEqual([]);
  });

  it("a body past executionMs loses its connection, where its runner can take that away", async () => {
    const { store, runner } = joined({});
    let givenUp = 0;
    const giving: TransactionRunner<string> = {
      ...runner,
      run: (fn) => {
        const given = Promise.withResolvers<never>();
        return Promise.race([
          given.promise,
          runner.run((tx, handle) =>
            fn(tx, {
              ...handle,
              giveUp() {
                givenUp += 1;
                given.reject(new Error("given up"));
              },
            }),
          ),
        ]);
      },
    };
    const { ask, clock, events } = bed({ transactions: giving, executionMs: 1_000, leaseMs: 1_000 }, (clock) =>
      store(memoryStore({ nowMs: clock.nowMs, environment: clock.environment })),
    );
    const first = executionOf(await ask());
    const pending = first.context.transaction(() => new Promise<never>(() => undefined));
    pending.catch(() => undefined);
    await clock.advance(1_500);
    await expect(pending).rejects.toThrow("given up");
    expect(givenUp).toBe(1);
    expect(events).toContainEqual(expect.objectContaining({ type: "warning", code: "transaction-overdue" }));
  });

  it("a body past its time is waited for where its runner cannot take its connection away, and told of once", async () => {
    const { ask, clock, events, serve } = transactional({}, { transactionMs: 500, leaseMs: 30_000 });
    await serve({ key: "another" });
    const first = executionOf(await ask());
    const gate = Promise.withResolvers<typeof made>();
    const pending = first.context.transaction(() => gate.promise);
    await clock.advance(5_000);
    const warnings = events.filter((event) => event.type === "warning");
    expect(warnings).toMatchObject([
      {
        code: "transaction-overdue",
        message: expect.stringMatching(
          /^payment\.create: its transaction was held for longer than transactionMs \(500\) and is given up; nothing of it is kept\. A function/,
        ) as string,
      },
    ]);
    gate.resolve(made);
    expect(await pending).toBe(made);
    expect(responseOf(await ask()).status).toBe(201);
  });

  it("a body that throws in time is not given up, and the attempt may try again", async () => {
    const { ask, events } = transactional();
    const first = executionOf(await ask());
    const failed = first.context.transaction(() => {
      throw new Error("constraint");
    });
    await expect(failed).rejects.toThrow("constraint");
    await first.context.transaction(() => made);
    expect((await providedBy(first)).status).toBe(201);
    expect(events.filter((event) => event.type === "warning")).toEqual([]);
  });

  it("nothing is kept of a body during which the attempt was answered", async () => {
    const { ask } = transactional();
    const first = executionOf(await ask());
    const gate = Promise.withResolvers<typeof made>();
    const pending = first.context.transaction(() => gate.promise);
    pending.catch(() => undefined);
    const answered = answer(first, { status: 409, body: new Uint8Array(0) });
    gate.resolve(made);
    await expect(pending).rejects.toMatchObject({ code: "transaction-aborted" });
    expect(await answered).toMatchObject({ kind: "send" });
    expect(responseOf(await ask()).status).toBe(409);
  });

  it("S5 a zombie's transaction is refused before its commit, and the record answers", async () => {
    const all = transactional();
    const zombie = executionOf(await all.ask());
    all.store.break("renew", "fail");
    await all.clock.advance(2_000);
    all.store.mend();
    const second = executionOf(await all.ask());
    let rolledBack = false;
    await expect(
      zombie.context
        .transaction(() => made)
        .catch((error: unknown) => {
          rolledBack = true;
          throw error;
        }),
    ).rejects.toMatchObject({ name: "FenceLost" });
    expect(rolledBack).toBe(true);
    expect((await providedBy(zombie)).status).toBe(409);
    await second.context.transaction(() => made);
    expect((await all.ask()).kind).toBe("replay");
  });

  it("a zombie that learns of its loss only from the lost commit answer sends the successor's answer", async () => {
    const all = transactional({ commit: "lost-before" });
    const zombie = executionOf(await all.ask());
    const late = zombie.context.transaction(async () => {
      all.store.break("renew", "fail");
      return made;
    });
    all.store.break("claim", "fail", 1);
    late.catch(() => undefined);
    await all.clock.advance(10);
    await all.clock.advance(2_000);
    all.store.mend();
    await expect(late).rejects.toThrow();
    expect((await all.ask()).kind).toBe("execute");
  });

  it("there is one answer, and no transaction without a runner", async () => {
    const { ask } = transactional();
    const first = executionOf(await ask());
    await first.context.transaction(() => made);
    await expect(first.context.transaction(() => made)).rejects.toMatchObject({ code: "usage-invalid" });
    const bare = executionOf(await bed().ask());
    await expect(bare.context.transaction(() => made)).rejects.toMatchObject({ code: "usage-invalid" });
    const own = executionOf(await ask({ key: "key-2" }));
    const { runner } = joined({});
    await expect(own.context.transaction(runner, () => ({ status: 99 }))).rejects.toMatchObject({
      code: "usage-invalid",
    });
  });

  it("an answer above the cap is sent whole and remembered as a tombstone", async () => {
    const { ask } = transactional({}, { bodyBytesMax: 4 });
    const first = executionOf(await ask());
    await first.context.transaction(() => made);
    expect(textOf(await providedBy(first))).toBe('{"id":1}');
    expect(responseOf(await ask()).status).toBe(409);
  });

  it("run gives the value that was committed", async () => {
    const { ichido } = transactional();
    const request = { operation: "a", scope: { tenant: "t" }, key: "k" };
    const first = await ichido.run(request, async (ctx) => {
      await ctx.transaction(() => made);
      return "ignored" as unknown;
    });
    expect(first).toEqual({ value: { id: 1 }, replayed: false });
    expect(await ichido.run(request, () => 2 as unknown)).toEqual({ value: { id: 1 }, replayed: true });
  });
});

describe("values that run committed", () => {
  it.each(["plain text", { a: 1 }, [1], new Uint8Array([1, 2, 255])])("gives %j back, now and later", async (body) => {
    const { ichido } = transactional();
    const request = { operation: "a", scope: { tenant: "t" }, key: "k" };
    const first = await ichido.run(
      request,
      (ctx) => ctx.transaction(() => ({ status: 200, body })) as Promise<unknown>,
    );
    expect(first).toEqual({ value: body, replayed: false });
    expect(await ichido.run(request, () => 1 as unknown)).toEqual({ value: body, replayed: true });
  });
});

describe("ctx.complete", () => {
  it("after the handler's own commit the stored answer is sent, whatever it writes", async () => {
    const { runner, store } = joined({});
    const all = bed({}, (clock) => store(memoryStore({ nowMs: clock.nowMs })));
    const first = executionOf(await all.ask());
    await runner.run((_, handle) => first.context.complete(handle, made));
    const settled = await answer(first, { status: 200 });
    expect(settled.kind === "replace" && settled.response.status).toBe(201);
    expect((await all.ask()).kind).toBe("replay");
  });

  it("stores one answer, and none once the attempt was answered", async () => {
    const { runner, store } = joined({});
    const all = bed({}, (clock) => store(memoryStore({ nowMs: clock.nowMs })));
    const first = executionOf(await all.ask());
    await runner.run((_, handle) => first.context.complete(handle, made));
    const again = runner.run((_, handle) => first.context.complete(handle, made));
    await expect(again).rejects.toMatchObject({ code: "usage-invalid" });
    const second = executionOf(await all.ask({ key: "key-2" }));
    await answer(second);
    const late = runner.run((_, handle) => second.context.complete(handle, made));
    await expect(late).rejects.toMatchObject({ code: "transaction-aborted" });
  });

  it("run gives the value that the handler committed itself", async () => {
    const { runner, store } = joined({});
    const all = bed({}, (clock) => store(memoryStore({ nowMs: clock.nowMs })));
    const request = { operation: "a", scope: { tenant: "t" }, key: "k" };
    const first = await all.ichido.run(request, async (ctx) => {
      await runner.run((_, handle) => ctx.complete(handle, made));
      return "ignored" as unknown;
    });
    expect(first).toEqual({ value: { id: 1 }, replayed: false });
  });

  it("after a rollback nothing is stored, and rerun runs again", async () => {
    const { runner, store } = joined({});
    const all = bed({ onUnknown: "rerun" }, (clock) => store(memoryStore({ nowMs: clock.nowMs })));
    const first = executionOf(await all.ask());
    await runner
      .run(async (_, handle) => {
        await first.context.complete(handle, made);
        throw new Error("roll back");
      })
      .catch(() => undefined);
    expect((await answer(first, { status: 500 })).kind).toBe("send");
    expect(executionOf(await all.ask()).context.attempt).toBe(2);
  });

  it("a stream that begins after a commit is replaced by the committed answer", async () => {
    const { runner, store } = joined({});
    const all = bed({}, (clock) => store(memoryStore({ nowMs: clock.nowMs })));
    const first = executionOf(await all.ask());
    await runner.run((_, handle) => first.context.complete(handle, made));
    const settled = await first.beginStream({ status: 200, headers: [] });
    expect(settled.kind).toBe("replace");
  });
});
