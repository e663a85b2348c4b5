/** Guards on real databases: what two callers who saw the same are told, and what is left in the table. */
import {
  checkPreconditions,
  createByClientId,
  createOnce,
  defineTransitions,
  etagOfVersion,
  updateVersioned,
  versionOfEtag,
} from "ichido/guards";
import type { TransactionHandle } from "ichido/transactions";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeWith } from "../support/services.ts";
import { caller } from "./callers.ts";
import type { Handler } from "./callers.ts";
import { mariadbBench, postgresBench, sqliteBench } from "./databases.ts";
import type { Bench, Side } from "./databases.ts";

const payment = defineTransitions({ pending: ["paid", "failed"], paid: ["refunded"] });

function suite(make: () => Promise<Bench>): void {
  let bench: Bench;
  let side: Side;
  let other: Side;
  beforeAll(async () => {
    bench = await make();
    side = bench.side();
    other = bench.side();
    await side.runner.run(
      (_tx, handle) =>
        handle.execute(
          "CREATE TABLE payments (id varchar(40) PRIMARY KEY, state varchar(20), version integer, amount integer, note varchar(40), UNIQUE (note))",
          [],
        ),
      { unwatched: true },
    );
  });
  afterAll(async () => {
    await side?.close();
    await other?.close();
    await bench?.close();
  });

  const within = <Value>(fn: (handle: TransactionHandle) => Promise<Value>, on: Side = side): Promise<Value> =>
    on.runner.run((_tx, handle) => fn(handle));
  const row = async (id: string): Promise<Record<string, unknown>> =>
    within(async (handle) => {
      const place = handle.dialect === "postgres" ? "$1" : "?";
      const { rows } = await handle.execute(`SELECT state, version, amount FROM payments WHERE id = ${place}`, [id]);
      return { ...rows[0] };
    });
  const seed = (id: string): Promise<unknown> =>
    within((handle) =>
      createByClientId(handle, { table: "payments", id, content: { state: "pending", version: 1, amount: 100 } }),
    );

  test("guards: a transition is applied once, then already there; what does not follow is illegal", async () => {
    await seed("p1");
    const move = (to: (typeof payment.states)[number], set = {}) =>
      within((handle) => payment.move(handle, { table: "payments", key: { id: "p1" }, to, set }));
    expect(await move("refunded")).toEqual({ outcome: "illegal", state: "pending" });
    expect(await move("paid", { amount: 7 })).toEqual({ outcome: "applied" });
    expect(await move("paid", { amount: 9 })).toEqual({ outcome: "already" });
    expect(await row("p1")).toMatchObject({ state: "paid", amount: 7 });
    expect(await move("failed")).toEqual({ outcome: "illegal", state: "paid" });
    expect(await move("refunded")).toEqual({ outcome: "applied" });
    const nobody = within((handle) => payment.move(handle, { table: "payments", key: { id: "no" }, to: "paid" }));
    expect(await nobody).toEqual({ outcome: "absent" });
  });

  test("guards: of many callers at once exactly one applies the transition", async () => {
    await seed("p2");
    const results = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        within(
          (handle) => payment.move(handle, { table: "payments", key: { id: "p2" }, to: index % 2 ? "paid" : "failed" }),
          index % 3 === 0 ? other : side,
        ),
      ),
    );
    const counts = Object.groupBy(results, ({ outcome }) => outcome);
    expect(counts.applied).toHaveLength(1);
    expect(counts.already).toHaveLength(5);
    expect(counts.illegal).toHaveLength(6);
  });

  test("guards: a versioned update is applied for the version seen, and stale for any other", async () => {
    await seed("p3");
    const update = (version: number, amount: number, on: Side = side) =>
      within(
        (handle) => updateVersioned(handle, { table: "payments", key: { id: "p3" }, version, set: { amount } }),
        on,
      );
    expect(await update(1, 200)).toEqual({ outcome: "applied", version: 2 });
    expect(await update(1, 300)).toEqual({ outcome: "stale", version: 2 });
    expect(await row("p3")).toMatchObject({ amount: 200, version: 2 });
    const results = await Promise.all(
      [2, 2, 2, 2, 2, 2].map((version, at) => update(version, at, at % 2 ? other : side)),
    );
    expect(results.filter(({ outcome }) => outcome === "applied")).toHaveLength(1);
    const gone = within((handle) =>
      updateVersioned(handle, { table: "payments", key: { id: "no" }, version: 1, set: {} }),
    );
    expect(await gone).toEqual({ outcome: "absent" });
  });

  test("guards: creation by a client's id is created, same or conflict, by content", async () => {
    const create = (content: Record<string, string | number | null>, on: Side = side) =>
      within((handle) => createByClientId(handle, { table: "payments", id: "c1", content, other: { version: 1 } }), on);
    expect(await create({ amount: 100, state: "pending", note: null })).toEqual({ outcome: "created" });
    expect(await create({ amount: 100, state: "pending", note: null })).toEqual({ outcome: "same" });
    expect(await create({ amount: 101, state: "pending", note: null })).toEqual({ outcome: "conflict" });
    expect(await create({ amount: 100, state: "Pending", note: null })).toEqual({ outcome: "conflict" });
    expect(await create({ amount: 100, state: "pending", note: "x" })).toEqual({ outcome: "conflict" });
    expect(await row("c1")).toMatchObject({ amount: 100, state: "pending" });
  });

  test("guards: of many creators at once one creates and the others find the same", async () => {
    const create = (on: Side) =>
      within(
        (handle) =>
          createOnce(handle, { table: "payments", key: { id: "c2" }, content: { amount: 5, state: "pending" } }),
        on,
      );
    const results = await Promise.all(Array.from({ length: 10 }, (_, at) => create(at % 2 ? side : other)));
    const counts = Object.groupBy(results, ({ outcome }) => outcome);
    expect(counts.created).toHaveLength(1);
    expect(counts.same).toHaveLength(9);
  });

  test("guards: a violation of another unique key is not taken for the same", async () => {
    await within((handle) => createOnce(handle, { table: "payments", key: { id: "u1" }, content: { note: "one" } }));
    const second = within((handle) =>
      createOnce(handle, { table: "payments", key: { id: "u2" }, content: { note: "one" } }),
    );
    await expect(second).rejects.toThrow();
    expect(await row("u2")).toEqual({});
  });

  test("guards: a key that names several rows changes none of them", async () => {
    for (const id of ["s1", "s2"])
      await within((handle) =>
        createByClientId(handle, { table: "payments", id, content: { state: "pending", version: 1, amount: 77 } }),
      );
    const key = { amount: 77 };
    const move = within((handle) => payment.move(handle, { table: "payments", key, to: "paid" }));
    await expect(move).rejects.toThrow(/matched 2 rows/);
    const look = within((handle) => payment.move(handle, { table: "payments", key, to: "refunded" }));
    await expect(look).rejects.toThrow(/matched 2 rows/);
    const update = within((handle) =>
      updateVersioned(handle, { table: "payments", key, version: 1, set: { amount: 1 } }),
    );
    await expect(update).rejects.toThrow(/matched 2 rows/);
    expect([await row("s1"), await row("s2")]).toEqual(
      Array.from({ length: 2 }, () => ({ state: "pending", version: 1, amount: 77 })),
    );
  });

  test("guards: an object in place of a value is refused before it is bound", async () => {
    const content = { amount: { id: 1 } as unknown as number };
    const create = within((handle) => createByClientId(handle, { table: "payments", id: "obj", content }));
    await expect(create).rejects.toMatchObject({ code: "usage-invalid" });
  });

  test("guards: the retry of a conditional write that succeeded replays, a late one gets 412 and is not kept", async () => {
    await seed("e1");
    const shop = caller(side);
    const write =
      (ifMatch: string, amount: number): Handler =>
      async (context) => {
        const current = etagOfVersion(Number((await row("e1"))["version"]));
        const condition = checkPreconditions({ method: "PUT", ifMatch, current, required: true });
        if (condition.verdict !== "proceed") return { status: condition.status };
        const version = versionOfEtag(ifMatch) ?? 0;
        await context.transaction(async (_tx, handle) => {
          const result = await updateVersioned(handle, {
            table: "payments",
            key: { id: "e1" },
            version,
            set: { amount },
          });
          if (result.outcome !== "applied") return { status: 412 };
          return { status: 200, headers: { etag: etagOfVersion(result.version) }, body: { amount } };
        });
        return { status: 500 };
      };
    const first = await shop.ask("edit-1", write('"v1"', 500));
    expect(first).toMatchObject({ status: 200, replayed: false });
    expect(await shop.ask("edit-1", write('"v1"', 500))).toEqual({ ...first, replayed: true });
    const late = await shop.ask("edit-2", write('"v1"', 900));
    expect(late).toMatchObject({ status: 412, replayed: false });
    expect(await shop.ask("edit-2", write('"v2"', 900))).toMatchObject({ status: 200, replayed: false });
    expect(await row("e1")).toMatchObject({ amount: 900, version: 3 });
    await shop.ichido.close();
  });
}

describe("guards on SQLite", () => suite(() => sqliteBench()));
describeWith("postgres", "guards on PostgreSQL", () => suite(postgresBench));
describeWith("mariadb", "guards on MariaDB", () => suite(mariadbBench));
