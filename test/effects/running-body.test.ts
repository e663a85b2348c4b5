/** Transaction mode never ends under a running body, and a body past its time takes its connection with it. */
import { providedBy } from "../../packages/ichido/src/testing/provided-by.ts";
import type { Context, Execution, IchidoOptions, RouteOptions } from "ichido";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { FaultPoint } from "ichido/testing";
import { eventually } from "../support/eventually.ts";
import { describeWith } from "../support/services.ts";
import { caller } from "./callers.ts";
import type { Caller, Handler } from "./callers.ts";
import { addEffect, postgresBench, sqliteBench } from "./databases.ts";
import type { Bench, Side } from "./databases.ts";
import { openPostgresJs } from "./sides.ts";

const mode = { mode: "transaction" } as const;
const encoder = new TextEncoder();

const writing =
  (name: string): Handler =>
  async (context) => {
    await context.transaction(async (_tx, handle) => {
      await addEffect(handle, `${name} first`);
      await addEffect(handle, `${name} second`);
      return { status: 201, body: { name } };
    });
    return { status: 201 };
  };

async function executionOf(
  shop: Caller,
  key: string,
  route: Partial<RouteOptions<unknown>> = mode,
): Promise<Execution> {
  const decision = await shop.decide(key, route);
  if (decision.kind !== "execute") throw new Error(`expected to run, got ${decision.kind}`);
  return decision.execution;
}

/** A body that has written its first half and waits to be let on. */
function halfway(context: Context, name: string): { begun: Promise<void>; goOn: () => void; body: Promise<unknown> } {
  const begun = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const body = context.transaction(async (_tx, handle) => {
    await addEffect(handle, `${name} first`);
    begun.resolve();
    await gate.promise;
    await addEffect(handle, `${name} second`);
    return { status: 201, body: { name } };
  });
  body.catch(() => undefined);
  return { begun: begun.promise, goOn: () => gate.resolve(), body };
}

const declined = { kind: "answered", response: { status: 402, headers: [], body: encoder.encode("{}") } } as const;

interface Subject {
  readonly name: string;
  readonly make: () => Promise<Bench>;
  readonly open: (bench: Bench) => Side;
  /** The runner can take the connection away from a body. */
  readonly destroys: boolean;
}

const subjects: readonly Subject[] = [
  { name: "pg", make: postgresBench, open: (bench) => bench.side(), destroys: true },
  { name: "postgres.js", make: postgresBench, open: (bench) => openPostgresJs(bench.url), destroys: false },
  { name: "node:sqlite", make: () => sqliteBench(), open: (bench) => bench.side(), destroys: false },
];

function suite({ make, open, destroys }: Subject): void {
  let bench: Bench;
  let side: Side;
  let shop: Caller;
  beforeAll(async () => {
    bench = await make();
    side = open(bench);
    shop = caller(side);
  });
  afterAll(async () => {
    await shop?.ichido.close();
    await side?.close();
    await bench?.close();
  });

  async function withShop<T>(
    options: Partial<IchidoOptions<unknown>>,
    work: (other: Caller) => Promise<T>,
  ): Promise<T> {
    const another = open(bench);
    const other = caller(another, options);
    try {
      return await work(other);
    } finally {
      await other.ichido.close();
      await another.close();
    }
  }

  test.each([
    [503, "send"],
    [409, "replace"],
    [200, "replace"],
  ] as const)("an answer of %d while the body runs keeps nothing: no half of it, no answer", async (status, kind) => {
    const key = `overtaken-${status}`;
    const execution = await executionOf(shop, key);
    const half = halfway(execution.context, key);
    await half.begun;
    const settled = await execution.settle({
      kind: "answered",
      response: { status, headers: [], body: encoder.encode("{}") },
    });
    expect(settled.kind).toBe(kind);
    if (settled.kind === "replace") {
      const problem: unknown = JSON.parse(new TextDecoder().decode(settled.response.body));
      expect(problem).toMatchObject({ status: 503, code: "idempotency-in-flight", retryable: true });
    }
    half.goOn();
    await expect(half.body).rejects.toThrow(/answered/);
    await eventually(async () => expect((await shop.ichido.health()).running).toBe(0));
    expect(await bench.effects(`${key} first`)).toEqual([]);
    expect(await bench.effects(`${key} second`)).toEqual([]);
    expect(await shop.ask(key, writing(key), mode)).toMatchObject({ status: 201, replayed: false });
    expect(await bench.effects(`${key} first`)).toHaveLength(1);
    expect(await bench.effects(`${key} second`)).toHaveLength(1);
  });

  test("in lease mode an answer while the body runs is kept, and nothing of the body", async () => {
    const execution = await executionOf(shop, "answered", {});
    const half = halfway(execution.context, "answered");
    await half.begun;
    const settling = execution.settle(declined);
    half.goOn();
    await expect(half.body).rejects.toThrow(/answered/);
    expect(await settling).toEqual({ kind: "send", addHeaders: [] });
    expect(await shop.ask("answered", writing("answered"))).toMatchObject({ status: 402, replayed: true });
    expect(await bench.effects("answered first")).toEqual([]);
    expect(await bench.effects("answered second")).toEqual([]);
  });

  test("in lease mode an answer that comes while the commit is under way waits for it, and gives way", async () => {
    const stored = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const faults: FaultPoint = async (name) => {
      if (name !== "before-commit") return;
      stored.resolve();
      await gate.promise;
    };
    await withShop({ faults }, async (other) => {
      const execution = await executionOf(other, "committing", {});
      const half = halfway(execution.context, "committing");
      half.goOn();
      await stored.promise;
      const settling = execution.settle(declined);
      gate.resolve();
      await half.body;
      expect(await settling).toMatchObject({ kind: "replace", response: { status: 201 } });
      expect(await other.ask("committing", writing("committing"))).toMatchObject({ status: 201, replayed: true });
      expect(await bench.effects("committing second")).toHaveLength(1);
    });
  });

  test("ctx.complete is refused once the attempt is answered: its transaction must not commit", async () => {
    const execution = await executionOf(shop, "too-late", {});
    await execution.settle(declined);
    const committing = side.runner.run(async (_tx, handle) => {
      await addEffect(handle, "too-late");
      await execution.context.complete(handle, { status: 201 });
    });
    await expect(committing).rejects.toThrow(/answered/);
    expect(await bench.effects("too-late")).toEqual([]);
  });

  test("past transactionMs nothing of the body stays, nothing lands elsewhere, and its caller is told 503", async () => {
    await withShop({ transactionMs: 300 }, async (other) => {
      const execution = await executionOf(other, "overdue");
      const half = halfway(execution.context, "overdue");
      await half.begun;
      expect((await providedBy(execution)).status).toBe(503);
      const before = other.ask("beside", writing("beside"), mode);
      // Only where the connection can be taken away may somebody else go on meanwhile.
      if (destroys) expect((await before).status).toBe(201);
      half.goOn();
      await expect(half.body).rejects.toThrow();
      await eventually(async () => expect((await other.ichido.health()).running).toBe(0));
      await before;
      const beside = await eventually(async () => {
        const answer = await other.ask("beside", writing("beside"), mode);
        expect(answer.status).toBe(201);
        return answer;
      });
      expect(beside.text).toBe('{"name":"beside"}');
      expect(await bench.effects("overdue first")).toEqual([]);
      expect(await bench.effects("overdue second")).toEqual([]);
      expect(await bench.effects("beside first")).toHaveLength(1);
      const retry = await eventually(async () => {
        const answer = await other.ask("overdue", writing("overdue"), mode);
        expect(answer.status).toBe(201);
        return answer;
      });
      expect(retry.replayed).toBe(false);
      expect(await bench.effects("overdue second")).toHaveLength(1);
    });
  });

  test("ctx.transaction rejects where its commit failed, so that nobody goes on as if it had not", async () => {
    await side.runner.run(async (_tx, handle) => {
      await handle.execute("CREATE TABLE parents (id integer PRIMARY KEY)", []);
      await handle.execute(
        "CREATE TABLE orphans (parent integer REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED)",
        [],
      );
    });
    const after: string[] = [];
    const answer = await shop.ask(
      "deferred",
      async (context) => {
        await context.transaction(async (_tx, handle) => {
          await handle.execute("INSERT INTO orphans VALUES (1)", []);
          return { status: 201 };
        });
        after.push("a mail is sent");
        return { status: 201 };
      },
      mode,
    );
    expect(answer.status).toBe(503);
    expect(after).toEqual([]);
  });

  test("a record that lease mode left in doubt is verified before anything runs", async () => {
    for (const [verdict, status] of [
      ["found", 200],
      ["not-visible-yet", 409],
      ["absent", 201],
    ] as const) {
      const key = `doubt-${verdict}`;
      let asked = 0;
      let ran = 0;
      const verify = (): never => {
        asked += 1;
        return (verdict === "found" ? { verdict, response: { status: 200, body: "first" } } : { verdict }) as never;
      };
      const onUnknown = { verify };
      await withShop({ onUnknown, closeMs: 0 }, async (other) => {
        const decision = await other.decide(key);
        expect(decision.kind).toBe("execute");
      });
      const answer = await shop.ask(
        key,
        async () => {
          ran += 1;
          return { status: 201 };
        },
        { ...mode, onUnknown },
      );
      expect([asked, answer.status, ran]).toEqual([1, status, verdict === "absent" ? 1 : 0]);
      const again = await shop.ask(key, writing(key), { ...mode, onUnknown });
      expect(again.replayed).toBe(verdict !== "not-visible-yet");
      expect(asked).toBe(verdict === "not-visible-yet" ? 2 : 1);
    }
  });
}

for (const subject of subjects.slice(0, 2)) {
  describeWith("postgres", `a running body, ${subject.name}`, () => suite(subject));
}
describe("a running body, node:sqlite", () => suite(subjects[2] as Subject));

describe("a running body on the one connection of SQLite", () => {
  test("the line stays closed until it ends: others are told 503 in time, and nothing is mixed", async () => {
    const bench = await sqliteBench();
    const side = bench.side();
    const shop = caller(
      { ...side, store: { ...side.store, callTimeoutMs: 100 } },
      { transactionMs: 200, storeTimeoutMs: 300 },
    );
    const execution = await executionOf(shop, "stuck");
    const half = halfway(execution.context, "stuck");
    await half.begun;
    expect((await providedBy(execution)).status).toBe(503);
    expect((await shop.ask("other", writing("other"), mode)).status).toBe(503);
    half.goOn();
    await expect(half.body).rejects.toThrow();
    await eventually(async () => expect((await shop.ask("other", writing("other"), mode)).status).toBe(201));
    expect(await bench.effects()).toEqual(["other first", "other second"]);
    await shop.ichido.close();
    await side.close();
    await bench.close();
  });
});

describeWith("postgres", "a body that failed", () => {
  test("can write nothing more by its handle, not even before ROLLBACK is answered", async () => {
    const bench = await postgresBench();
    const side = bench.side();
    const late = Promise.withResolvers<unknown>();
    late.promise.catch(() => undefined);
    const failing = side.runner.run(async (_tx, handle) => {
      await addEffect(handle, "first");
      // After this turn of the event loop, in which ROLLBACK is sent, and before the next one, which may hear its answer.
      setImmediate(() => late.resolve(addEffect(handle, "late")));
      throw new Error("the body failed");
    });
    await expect(failing).rejects.toThrow("the body failed");
    await expect(late.promise).rejects.toThrow("not inside a transaction");
    expect(await bench.effects()).toEqual([]);
    await side.close();
    await bench.close();
  });
});

describeWith("postgres", "a body that is stuck in a query", () => {
  test("loses its connection at transactionMs: its caller is answered, and the pool serves on", async () => {
    const bench = await postgresBench();
    const side = bench.side();
    const shop = caller(side, { transactionMs: 300 });
    const blocker = bench.side();
    const held = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const blocking = blocker.runner.run(async (_tx, handle) => {
      await handle.execute("LOCK TABLE effects IN ACCESS EXCLUSIVE MODE", []);
      held.resolve();
      await gate.promise;
    });
    await held.promise;
    // Nobody lets go of the table before this is answered.
    const first = await shop.ask("stuck", writing("stuck"), mode);
    expect(first.status).toBe(503);
    expect((await shop.ichido.health()).running).toBe(0);
    gate.resolve();
    await blocking;
    await eventually(async () => {
      expect((await shop.ask("stuck", writing("stuck"), mode)).status).toBe(201);
    });
    expect(await bench.effects("stuck first")).toHaveLength(1);
    await shop.ichido.close();
    await side.close();
    await blocker.close();
    await bench.close();
  });

  test("in lease mode likewise", async () => {
    const bench = await postgresBench();
    const side = bench.side();
    const shop = caller(side, { transactionMs: 300 });
    const execution = await shop.decide("leased").then((decision) => {
      if (decision.kind !== "execute") throw new Error(decision.kind);
      return decision.execution;
    });
    const half = halfway(execution.context, "leased");
    await half.begun;
    await expect(half.body).rejects.toThrow(/given up/);
    half.goOn();
    await execution.settle({ kind: "threw", error: new Error("given up") });
    expect(await bench.effects()).toEqual([]);
    await shop.ichido.close();
    await side.close();
    await bench.close();
  });
});
