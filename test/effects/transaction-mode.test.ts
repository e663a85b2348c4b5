import { setTimeout as sleep } from "node:timers/promises";
import { createFaultProxy } from "ichido/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describe } from "vitest";
import { eventually } from "../support/eventually.ts";
import { describeWith } from "../support/services.ts";
import { caller } from "./callers.ts";
import type { Caller, Handler } from "./callers.ts";
import { addEffect, postgresBench, sqliteBench } from "./databases.ts";
import type { Bench, Side } from "./databases.ts";

const mode = { mode: "transaction" } as const;

/** The handler's writes go through the transaction that carries the record. */
function writing(name: string, status = 201, once: string | null = null): Handler {
  return async (context) => {
    await context.transaction(async (_tx, handle) => {
      await addEffect(handle, name, once);
      return { status, body: { name } };
    });
    return { status };
  };
}

function suite(make: () => Promise<Bench>): void {
  let bench: Bench;
  let side: Side;
  let shop: Caller;
  beforeAll(async () => {
    bench = await make();
    side = bench.side();
    shop = caller(side);
  });
  afterAll(async () => {
    await shop?.ichido.close();
    await side?.close();
    await bench?.close();
  });

  async function withOther<T>(work: (other: Caller) => Promise<T>): Promise<T> {
    const another = bench.side();
    const other = caller(another);
    try {
      return await work(other);
    } finally {
      await other.ichido.close();
      await another.close();
    }
  }

  test("T2 record and business write are invisible before the commit, and there together after it", async () => {
    const before = await bench.records();
    const seen: unknown[] = [];
    const first = await shop.ask(
      "together",
      async (context) => {
        await context.transaction(async (_tx, handle) => {
          await addEffect(handle, "together");
          seen.push(await bench.effects("together"), (await bench.records()) - before);
          return { status: 201, body: { id: 1 } };
        });
        return { status: 500 };
      },
      mode,
    );
    expect(seen).toEqual([[], 0]);
    expect(first).toMatchObject({ status: 201, text: '{"id":1}', replayed: false });
    expect(await bench.effects("together")).toEqual(["together"]);
    const again = await shop.ask("together", writing("together"), mode);
    expect(again).toEqual({ ...first, replayed: true });
    expect(await bench.effects("together")).toEqual(["together"]);
  });

  test("T2 other content under a committed key is a mismatch and does not run", async () => {
    await shop.ask("content", writing("content"), mode);
    const other = await shop.ask("content", writing("content"), mode, { amount: 999 });
    expect(other.code).toBe("idempotency-key-reused");
    expect(await bench.effects("content")).toHaveLength(1);
  });

  test("T2 a duplicate in the same process waits for the commit and replays", async () => {
    const gate = Promise.withResolvers<void>();
    const first = shop.ask(
      "same",
      async (context) => {
        await gate.promise;
        return writing("same")(context);
      },
      mode,
    );
    await sleep(20);
    const second = shop.ask("same", writing("same"), mode);
    await sleep(20);
    gate.resolve();
    expect((await first).status).toBe(201);
    expect(await second).toEqual({ ...(await first), replayed: true });
    expect(await bench.effects("same")).toHaveLength(1);
  });

  test("T2 a duplicate in another process waits for the commit and replays", async () => {
    await withOther(async (other) => {
      const gate = Promise.withResolvers<void>();
      const begun = Promise.withResolvers<void>();
      const first = shop.ask(
        "apart",
        async (context) => {
          begun.resolve();
          await gate.promise;
          return writing("apart")(context);
        },
        mode,
      );
      await begun.promise;
      const second = other.ask("apart", writing("apart"), mode);
      await sleep(50);
      gate.resolve();
      expect((await first).status).toBe(201);
      expect(await second).toEqual({ ...(await first), replayed: true });
      expect(await bench.effects("apart")).toHaveLength(1);
    });
  });

  test("T2 a duplicate that waited long enough gets the in-flight answer, and the replay later", async () => {
    const gate = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const first = shop.ask(
      "patience",
      async (context) => {
        begun.resolve();
        await gate.promise;
        return writing("patience")(context);
      },
      mode,
    );
    await begun.promise;
    const second = await shop.ask("patience", writing("patience"), { ...mode, inFlight: { waitMs: 30 } });
    expect(second).toMatchObject({ status: 409, code: "idempotency-in-flight" });
    gate.resolve();
    await first;
    expect((await shop.ask("patience", writing("patience"), mode)).replayed).toBe(true);
  });

  test.each([
    ["a 5xx", async () => ({ status: 500 })],
    ["a 4xx that is never kept", async () => ({ status: 429 })],
    [
      "a throw",
      async () => {
        throw new Error("out of paper");
      },
    ],
    [
      "ctx.release",
      async (context) => {
        context.release();
        return { status: 200 };
      },
    ],
  ] as [string, Handler][])("T2 %s rolls everything back: no record, no business write", async (name, end) => {
    const before = await bench.records();
    const key = `undo ${name}`.replaceAll(" ", "-");
    await shop.ask(
      key,
      async (context) => {
        await writeAndThrow(context, key);
        return end(context);
      },
      mode,
    );
    expect(await bench.effects(key)).toEqual([]);
    expect(await bench.records()).toBe(before);
    const retry = await shop.ask(key, writing(key), mode);
    expect(retry).toMatchObject({ status: 201, replayed: false });
    expect(await bench.effects(key)).toEqual([key]);
  });

  /** A transaction body that throws: what it wrote must not stay. */
  async function writeAndThrow(context: Parameters<Handler>[0], name: string): Promise<void> {
    await context
      .transaction(async (_tx, handle) => {
        await addEffect(handle, name);
        throw new Error("stop");
      })
      .catch(() => undefined);
  }

  test("T2 a kept 4xx is committed and replayed", async () => {
    const refused = await shop.ask("sold-out", async () => ({ status: 422, body: { code: "sold-out" } }), mode);
    const again = await shop.ask("sold-out", writing("sold-out"), mode);
    expect(again).toEqual({ ...refused, replayed: true });
    expect(await bench.effects("sold-out")).toEqual([]);
  });

  test.each([422, 200])("T2 a body that threw is undone also where the handler answers %d", async (status) => {
    const key = `thrown-${status}`;
    const handler: Handler = async (context) => {
      await writeAndThrow(context, key);
      await expect(context.transaction(async () => ({ status: 201 }))).rejects.toMatchObject({
        code: "option-invalid",
      });
      return { status, body: { status } };
    };
    const first = await shop.ask(key, handler, mode);
    expect(first).toMatchObject({ status, replayed: false });
    expect(await bench.effects(key)).toEqual([]);
    expect(await shop.ask(key, writing(key), mode)).toEqual({ ...first, replayed: true });
  });

  test("T2 a refusal after a violated constraint is stored though its transaction is spoilt", async () => {
    await shop.ask("unique-1", writing("unique-1", 201, "seat 12"), mode);
    const taken: Handler = async (context) => {
      try {
        await context.transaction(async (_tx, handle) => {
          await addEffect(handle, "unique-2", "seat 12");
          return { status: 201 };
        });
      } catch {
        return { status: 409, body: { code: "seat-taken" } };
      }
      return { status: 500 };
    };
    const refused = await shop.ask("unique-2", taken, mode);
    expect(refused).toMatchObject({ status: 409, code: "seat-taken" });
    const again = await shop.ask("unique-2", writing("unique-2"), mode);
    expect(again).toEqual({ ...refused, replayed: true });
    expect(await bench.effects("unique-2")).toEqual([]);
  });

  test("T2 fifty duplicates at once: one effect, one answer, at most one connection more than one", async () => {
    const connections = side.connections();
    let most = 0;
    let ran = 0;
    const answers = await Promise.all(
      Array.from({ length: 50 }, () =>
        shop.ask(
          "fifty",
          async (context) => {
            ran += 1;
            for (let pause = 0; pause < 5; pause += 1) {
              await sleep(10);
              most = Math.max(most, side.connections());
            }
            return writing("fifty")(context);
          },
          { ...mode, inFlight: { waitMs: 20_000 } },
        ),
      ),
    );
    expect(ran).toBe(1);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers.filter(({ replayed }) => replayed)).toHaveLength(49);
    expect(await bench.effects("fifty")).toHaveLength(1);
    expect(most).toBeLessThanOrEqual(Math.max(connections, 2));
  });

  test("T2 steps and open outcomes are refused: nothing of the attempt is visible before its commit", async () => {
    const answer = await shop.ask(
      "steps",
      async (context) => {
        await expect(context.step("bank.charge", () => 1)).rejects.toMatchObject({ code: "option-invalid" });
        await expect(context.unknown({ status: 202 })).rejects.toMatchObject({ code: "option-invalid" });
        return { status: 200 };
      },
      mode,
    );
    expect(answer.status).toBe(200);
  });
}

describe("transaction mode on SQLite", () => suite(sqliteBench));

describeWith("postgres", "transaction mode on PostgreSQL", () => {
  suite(postgresBench);

  async function through(
    work: (shop: Caller, bench: Bench, proxy: Awaited<ReturnType<typeof createFaultProxy>>) => Promise<void>,
  ): Promise<void> {
    const bench = await postgresBench();
    const proxy = await createFaultProxy({ target: bench.url });
    const side = bench.side(proxy.url);
    const shop = caller(side);
    try {
      await work(shop, bench, proxy);
    } finally {
      await shop.ichido.close();
      await side.close();
      await proxy.close();
      await bench.close();
    }
  }

  test("T2 in another process a duplicate waits no longer than it may, on one connection", async () => {
    await through(async (shop, bench) => {
      const another = bench.side();
      const other = caller(another);
      const gate = Promise.withResolvers<void>();
      const begun = Promise.withResolvers<void>();
      const first = shop.ask(
        "apart",
        async (context) => {
          begun.resolve();
          await gate.promise;
          return writing("apart")(context);
        },
        mode,
      );
      await begun.promise;
      const waits = { ...mode, inFlight: { waitMs: 200 } };
      const answers = await Promise.all(Array.from({ length: 50 }, () => other.ask("apart", writing("apart"), waits)));
      expect(new Set(answers.map(({ code }) => code))).toEqual(new Set(["idempotency-in-flight"]));
      expect(another.connections()).toBeLessThanOrEqual(2);
      gate.resolve();
      expect((await first).status).toBe(201);
      expect((await other.ask("apart", writing("apart"), mode)).replayed).toBe(true);
      await other.ichido.close();
      await another.close();
    });
  });

  test("R8 a lost COMMIT answer is resolved: the answer is sent when it took effect, 503 and nothing when not", async () => {
    await through(async (shop, bench, proxy) => {
      for (let round = 0; round < 10; round += 1) {
        const committed = round % 2 === 0;
        const key = `commit-${round}`;
        // A connection is warm, so that the cut meets the right COMMIT.
        await shop.ask(`warm-${round}`, writing("warm"), mode);
        const cut = proxy.cut({ direction: "to-server", pattern: "COMMIT", place: committed ? "after" : "before" });
        const first = await shop.ask(key, writing(key), mode);
        expect(cut.count).toBe(1);
        expect(first.status).toBe(committed ? 201 : 503);
        expect(await bench.effects(key)).toHaveLength(committed ? 1 : 0);
        const retry = await shop.ask(key, writing(key), mode);
        expect(retry).toMatchObject({ status: 201, replayed: committed });
        expect(await bench.effects(key)).toHaveLength(1);
      }
    });
  });

  test("T2 a connection lost while the handler runs leaves nothing, and the retry runs", async () => {
    await through(async (shop, bench, proxy) => {
      const first = await shop.ask(
        "cut",
        async (context) => {
          proxy.reset();
          await sleep(20);
          return writing("cut")(context);
        },
        mode,
      );
      expect(first.status).toBeGreaterThanOrEqual(500);
      expect(await bench.effects("cut")).toEqual([]);
      const retry = await eventually(async () => {
        const answer = await shop.ask("cut", writing("cut"), mode);
        expect(answer.status).toBe(201);
        return answer;
      });
      expect(retry.replayed).toBe(false);
      expect(await bench.effects("cut")).toEqual(["cut"]);
    });
  });
});
