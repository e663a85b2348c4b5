import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import type { OwnerToken } from "ichido";
import { sqliteStore } from "ichido/sqlite";
import { createFaultProxy } from "ichido/testing";
import { nodeSqliteTransactions } from "ichido/transactions";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describe } from "vitest";
import { eventually } from "../support/eventually.ts";
import { describeWith } from "../support/services.ts";
import { caller } from "./callers.ts";
import type { Caller, Handler } from "./callers.ts";
import { addEffect, postgresBench, sqliteBench } from "./databases.ts";
import type { Bench, Side } from "./databases.ts";

const mode = { mode: "transaction" } as const;

/** A client of `pg`. */
interface Queries {
  query(sql: string, values: readonly unknown[]): Promise<unknown>;
}

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
        code: "usage-invalid",
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

  test("T2 a refusal that the body itself made of a violated constraint is stored likewise", async () => {
    await shop.ask("inner-1", writing("inner-1", 201, "seat 13"), mode);
    const taken: Handler = async (context) => {
      await context.transaction(async (tx, handle) => {
        const name = handle.dialect === "postgres" ? "$1" : "?";
        const insert = `INSERT INTO effects (name, once) VALUES (${name}, 'seat 13')`;
        try {
          if (handle.dialect === "postgres") await (tx as Queries).query(insert, ["inner-2"]);
          else await handle.execute(insert, ["inner-2"]);
        } catch {
          return { status: 409, body: { code: "seat-taken" } };
        }
        return { status: 201 };
      });
      return { status: 500 };
    };
    const refused = await shop.ask("inner-2", taken, mode);
    expect(refused).toMatchObject({ status: 409, code: "seat-taken" });
    expect(await shop.ask("inner-2", writing("inner-2"), mode)).toEqual({ ...refused, replayed: true });
    expect(await bench.effects("inner-2")).toEqual([]);
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

  test.each([
    ["hold", "hold"],
    ["verify", { verify: () => ({ verdict: "not-visible-yet" as const }) }],
  ] as const)(
    "S11 under %s a doubt that lease mode left under rerun outlives its retention once a caller was told of it",
    async (name, onUnknown) => {
      const key = `doubt-${name}`;
      const failing = shop.ask(key, () => Promise.reject(new Error("nothing done")), { mode: "lease" });
      expect((await failing).status).toBe(500);
      const [record] = (await side.store.list({ key, limit: 1 })).records;
      if (record === undefined) throw new Error("a failed attempt leaves a record");
      // Its next owner vanishes, under `rerun`.
      const { identity, fingerprint } = record;
      const owner = "0123456789abcdef0123456789abcdef" as OwnerToken;
      const times = { leaseMs: 30_000, retentionMs: 86_400_000 };
      const grant = await side.store.claim({ identity, fingerprint, owner, ...times, takeover: "none" });
      if (grant.outcome !== "granted") throw new Error(grant.outcome);
      expect(await side.store.suspend({ identity, owner, fence: grant.fence })).toBe("ok");

      const stays = (): Promise<boolean> =>
        side.runner.run(async (_tx, handle) => {
          const { rows } = await handle.execute(`SELECT doubt_stays FROM ichido_records WHERE key = '${key}'`, []);
          return Boolean(rows[0]?.["doubt_stays"]);
        });
      expect(await stays()).toBe(false);
      const told = await shop.ask(key, writing(key), { ...mode, onUnknown });
      expect(told.code).toBe("outcome-unknown");
      expect(await stays()).toBe(true);
      expect(await bench.effects(key)).toEqual([]);
    },
  );

  test("T2 steps and open outcomes are refused: nothing of the attempt is visible before its commit", async () => {
    const answer = await shop.ask(
      "steps",
      async (context) => {
        await expect(context.step("bank.charge", () => 1)).rejects.toMatchObject({ code: "usage-invalid" });
        await expect(context.unknown({ status: 202 })).rejects.toMatchObject({ code: "usage-invalid" });
        return { status: 200 };
      },
      mode,
    );
    expect(answer.status).toBe(200);
  });
}

describe("transaction mode on SQLite", () => suite(() => sqliteBench()));

test("an attempt that was undone is not taken for the one that came after it in the same moment", async () => {
  const bench = await sqliteBench();
  const database = new DatabaseSync(bench.url);
  const store = sqliteStore(database, { nowMs: () => 1_800_000_000_000 });
  const side = { store, runner: nodeSqliteTransactions(database), connections: () => 1, close: async () => {} };
  const [one, two] = [caller(side), caller(side)];
  try {
    const [first, second] = await Promise.all([
      one.ask(
        "moment",
        async (context) => {
          await context.transaction(async (_tx, handle) => {
            await addEffect(handle, "undone");
            database.exec("ROLLBACK");
            return { status: 201, body: { name: "undone" } };
          });
          return { status: 201 };
        },
        mode,
      ),
      two.ask("moment", writing("kept"), mode),
    ]);
    expect(await bench.effects()).toEqual(["kept"]);
    // The record is asked before the other has begun, or after its commit.
    expect(first.status === 503 || first.text === '{"name":"kept"}').toBe(true);
    expect(second.text).toBe('{"name":"kept"}');
  } finally {
    await Promise.all([one.ichido.close(), two.ichido.close()]);
    await store.close();
    database.close();
    await bench.close();
  }
});

describe("transaction mode on SQLite with shared commits", () => {
  suite(() => sqliteBench(undefined, { shareCommits: true }));

  /** Fails at the commit that it shares with those before it. */
  const spoiling: Handler = async (context) => {
    await context.transaction(async (_tx, handle) => {
      await handle.execute("INSERT INTO orphans VALUES (77)", []);
      return { status: 201 };
    });
    return { status: 201 };
  };

  async function spoiled(
    work: (one: Caller, two: Caller, bench: Bench, clear: (table: string) => Promise<unknown>) => Promise<void>,
  ): Promise<void> {
    const bench = await sqliteBench(undefined, { shareCommits: true });
    const side = bench.side();
    const [one, two] = [caller(side), caller(side)];
    await side.runner.run(async (_tx, handle) => {
      await handle.execute("CREATE TABLE parents (id integer PRIMARY KEY)", []);
      await handle.execute(
        "CREATE TABLE orphans (parent integer REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED)",
        [],
      );
    });
    // What was slow at first is over, and commits are shared again.
    await sleep(1_100);
    try {
      await work(one, two, bench, (table) =>
        side.runner.run((_tx, handle) => handle.execute(`DELETE FROM ${table}`, [])),
      );
    } finally {
      await Promise.all([one.ichido.close(), two.ichido.close()]);
      await side.close();
      await bench.close();
    }
  }

  test("nobody is given an answer that is not committed yet, and may never be", async () => {
    await spoiled(async (one, two, bench) => {
      const [first, second, third] = await Promise.all([
        one.ask("k", writing("first"), mode),
        two.ask("k", writing("second"), mode),
        one.ask("bad", spoiling, mode),
      ]);
      const effects = [...(await bench.effects("first")), ...(await bench.effects("second"))];
      for (const { status, text } of [first, second]) {
        if (status === 201) expect(effects).toEqual([(JSON.parse(text) as { name: string }).name]);
        else expect(status).toBe(503);
      }
      expect(third.status).toBe(503);
      const retry = await one.ask("k", writing("first"), mode);
      expect(retry.status).toBe(201);
    });
  });

  test("a refusal that rests on what was undone is not kept", async () => {
    await spoiled(async (one, _two, bench, clear) => {
      const buying =
        (name: string): Handler =>
        async (context) => {
          await context.transaction(async (_tx, handle) => {
            const { rows } = await handle.execute("SELECT name FROM effects WHERE name IN ('ann', 'bob')", []);
            if (rows.length > 0) return { status: 409, body: { sold: rows[0]?.["name"] } };
            await addEffect(handle, name);
            return { status: 201 };
          });
          return { status: 201 };
        };
      let statuses: number[] = [];
      let round = 0;
      // A busy moment makes them commit one by one, and then Bob's refusal is true.
      for (; round < 20 && statuses[0] !== 503; round += 1) {
        await sleep(1_100);
        await clear("effects");
        const answers = await Promise.all([
          one.ask(`ann-${round}`, buying("ann"), mode),
          one.ask(`bob-${round}`, buying("bob"), mode),
          one.ask(`bad-${round}`, spoiling, mode),
        ]);
        statuses = answers.map(({ status }) => status);
      }
      expect(statuses).toEqual([503, 503, 503]);
      expect(await bench.effects("ann")).toEqual([]);
      expect((await one.ask(`bob-${round - 1}`, buying("bob"), mode)).status).toBe(201);
    });
  });
});

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

  test.each(["repeatable read", "serializable"])(
    "replays at once do not stand in each other's way under %s",
    async (level) => {
      const bench = await postgresBench();
      const side = bench.side(
        `${bench.url}?options=${encodeURIComponent(`-c default_transaction_isolation=${level.replace(" ", "\\ ")}`)}`,
      );
      const shops = Array.from({ length: 4 }, () => caller(side));
      try {
        await Promise.all(shops.slice(0, 1).map((each) => each.ask("once", writing("once"), mode)));
        const replays = await Promise.all(
          Array.from({ length: 10 }, () => shops)
            .flat()
            .map((each) => each.ask("once", writing("once"), mode)),
        );
        expect(new Set(replays.map(({ status, replayed }) => `${status} ${replayed}`))).toEqual(new Set(["201 true"]));
        expect(await bench.effects("once")).toEqual(["once"]);
      } finally {
        await Promise.all(shops.map((each) => each.ichido.close()));
        await side.close();
        await bench.close();
      }
    },
  );

  test("an attempt whose connection is lost does not stand in the way of a duplicate that waited for it", async () => {
    await through(async (shop, bench, proxy) => {
      const another = bench.side();
      const other = caller(another);
      for (let round = 0; round < 5; round += 1) {
        const key = `bystander-${round}`;
        await shop.ask(`warm-${round}`, writing("warm"), mode);
        const begun = Promise.withResolvers<void>();
        const gate = Promise.withResolvers<void>();
        proxy.cut({ direction: "to-server", pattern: "COMMIT", place: "before" });
        const first = shop.ask(
          key,
          async (context) => {
            begun.resolve();
            await gate.promise;
            return writing(key)(context);
          },
          mode,
        );
        await begun.promise;
        const second = other.ask(key, writing(key), mode);
        await sleep(50);
        gate.resolve();
        const answers = await Promise.all([first, second]);
        expect(answers[1]?.status).toBe(201);
        expect([201, 503]).toContain(answers[0]?.status);
        expect(await bench.effects(key)).toEqual([key]);
      }
      await other.ichido.close();
      await another.close();
    });
  });

  test("a handler that rolls back and begins anew by itself gets no answer kept for writes that are gone", async () => {
    await through(async (shop, bench) => {
      const answer = await shop.ask(
        "own-end",
        async (context) => {
          await context.transaction(async (tx, handle) => {
            await addEffect(handle, "own-end");
            await (tx as { query(sql: string): Promise<unknown> }).query("ROLLBACK AND CHAIN");
            return { status: 201 };
          });
          return { status: 201 };
        },
        mode,
      );
      expect(answer.status).toBe(503);
      expect(await bench.effects("own-end")).toEqual([]);
      expect((await shop.ask("own-end", writing("own-end"), mode)).replayed).toBe(false);
      expect(await bench.effects("own-end")).toEqual(["own-end"]);
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

  test("R8 a refusal that writes is not kept without its writes when COMMIT is lost", async () => {
    await through(async (shop, bench, proxy) => {
      await shop.ask("warm", writing("warm"), mode);
      proxy.cut({ direction: "to-server", pattern: "COMMIT", place: "before" });
      const declined = writing("declined", 402);
      expect((await shop.ask("declined", declined, mode)).status).toBe(503);
      expect(await bench.effects("declined")).toEqual([]);
      expect(await shop.ask("declined", declined, mode)).toMatchObject({ status: 402, replayed: false });
      expect(await bench.effects("declined")).toEqual(["declined"]);
      expect(await shop.ask("declined", declined, mode)).toMatchObject({ status: 402, replayed: true });
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
