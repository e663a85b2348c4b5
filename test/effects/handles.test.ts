/** Every handle and every runner on its real database. */
import { createFaultProxy } from "ichido/testing";
import type { FaultProxy } from "ichido/testing";
import { CommitFailed, fromDrizzle } from "ichido/transactions";
import type { TransactionHandle } from "ichido/transactions";
import { sql as drizzleSql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeWith } from "../support/services.ts";
import { addEffect, mariadbBench, postgresBench, sqliteBench } from "./databases.ts";
import type { Bench } from "./databases.ts";
import { BetterSqlite3, onBetterSqlite3, onMariadb, onNodeSqlite, onPostgres } from "./libraries.ts";
import type { Wrap, Wrapped } from "./libraries.ts";

function suite(make: () => Promise<Bench>, wraps: Readonly<Record<string, Wrap>>, remote: boolean): void {
  let bench: Bench;
  beforeAll(async () => {
    bench = await make();
  });
  afterAll(() => bench?.close());

  describe.each(Object.entries(wraps))("%s", (name, wrap) => {
    let proxy: FaultProxy | undefined;
    let wrapped: Wrapped;
    beforeAll(async () => {
      proxy = remote ? await createFaultProxy({ target: bench.url }) : undefined;
      wrapped = await wrap(proxy?.url ?? bench.url);
    });
    afterAll(async () => {
      await wrapped?.close();
      await proxy?.close();
    });
    const count = async (effect: string): Promise<number> => (await bench.effects(`${name} ${effect}`)).length;
    const add = (handle: TransactionHandle, effect: string): Promise<void> => addEffect(handle, `${name} ${effect}`);

    test("R7 a write is invisible outside before the commit, and there after it", async () => {
      const value = await wrapped.runner.run(async (_tx, handle) => {
        await add(handle, "commit");
        expect(await count("commit")).toBe(0);
        return 7;
      });
      expect(value).toBe(7);
      expect(await count("commit")).toBe(1);
    });

    test("R7 a write is gone after a rollback, and the reason comes through", async () => {
      const reason = new Error("no");
      const run = wrapped.runner.run(async (_tx, handle) => {
        await add(handle, "rollback");
        throw reason;
      });
      await expect(run).rejects.toBe(reason);
      expect(await count("rollback")).toBe(0);
    });

    test("R7 the handle answers with rows, row counts, bytes and quoted question marks", async () => {
      await wrapped.runner.run(async (_tx, handle) => {
        await add(handle, "rows");
        await add(handle, "rows");
        const [one, two] = handle.dialect === "postgres" ? ["$1", "$2"] : ["?", "?"];
        // Knex cannot say a question mark on SQLite; none of the store's statements has one.
        const literal = name === "knex" && handle.dialect === "sqlite" ? "$1" : "? $1";
        const { affected } = await handle.execute(`UPDATE effects SET name = ${one} WHERE name = ${two}`, [
          `${name} what? $1`,
          `${name} rows`,
        ]);
        expect(affected).toBe(2);
        const { rows } = await handle.execute(
          `SELECT name, '${literal}' AS quoted_text FROM effects WHERE name = ${one} ORDER BY id`,
          [`${name} what? $1`],
        );
        expect(rows).toHaveLength(2);
        expect({ ...rows[0] }).toEqual({ name: `${name} what? $1`, quoted_text: literal });
        const cast = handle.dialect === "postgres" ? "$1::bytea" : "?";
        const bytes = Buffer.from([0, 255, 128]);
        const { rows: same } = await handle.execute(`SELECT ${cast} AS b`, [bytes]);
        expect(Buffer.from(same[0]?.["b"] as Uint8Array).equals(bytes)).toBe(true);
      });
    });

    test("R7 a handle outside a transaction is refused before it writes", async () => {
      if (wrapped.outside === undefined) return;
      const handle = await wrapped.outside();
      await expect(add(handle, "outside")).rejects.toMatchObject({ code: "usage-invalid" });
      expect(await count("outside")).toBe(0);
    });

    test("R7 a handle kept beyond its transaction writes nothing", async () => {
      const kept: TransactionHandle[] = [];
      await wrapped.runner.run(async (_tx, handle) => {
        await add(handle, "in time");
        kept.push(handle);
      });
      for (const handle of kept) await expect(add(handle, "late")).rejects.toThrow();
      expect(await count("late")).toBe(0);
    });

    if (!remote) return;

    test("R7 a lost connection poisons the handle: nothing runs on another one", async () => {
      const run = wrapped.runner.run(async (_tx, handle) => {
        await add(handle, "lost");
        proxy?.reset();
        const first = await add(handle, "lost").catch((error: unknown) => error);
        expect(first).toBeInstanceOf(Error);
        await expect(add(handle, "lost")).rejects.toBe(first);
        // A body that goes on as if nothing had happened must not commit either.
        return 1;
      });
      await expect(run).rejects.toThrow();
      expect(await count("lost")).toBe(0);
      await wrapped.runner.run(async (_tx, handle) => add(handle, "after"));
      expect(await count("after")).toBe(1);
    });

    test.each(["after", "before"] as const)(
      "R8 a connection lost %s COMMIT arrived is a CommitFailed",
      async (place) => {
        await wrapped.runner.run(async (_tx, handle) => add(handle, "warm"));
        // Not `commit` on MySQL: the session is also told of `autocommit`.
        const patterns = bench.dialect === "mysql" ? ["COMMIT"] : ["COMMIT", "commit"];
        const cuts = patterns.map((pattern) => proxy?.cut({ direction: "to-server", pattern, place }));
        const effect = `fate ${place}`;
        const run = wrapped.runner.run(async (_tx, handle) => add(handle, effect));
        await expect(run).rejects.toBeInstanceOf(CommitFailed);
        expect(cuts.reduce((sum, cut) => sum + (cut?.count ?? 0), 0)).toBe(1);
        proxy?.heal();
        expect(await count(effect)).toBe(place === "after" ? 1 : 0);
      },
    );
  });
}

test("R7 fromDrizzle refuses the database in place of its transaction", () => {
  expect(() => fromDrizzle({ execute: async () => [] } as never, drizzleSql, "postgres")).toThrow(
    expect.objectContaining({ code: "usage-invalid" }) as Error,
  );
});

describeWith("postgres", "handles on PostgreSQL", () => suite(postgresBench, onPostgres, true));
describeWith("mariadb", "handles on MariaDB", () => suite(mariadbBench, onMariadb, true));
describe("handles on SQLite", () => suite(() => sqliteBench(), onNodeSqlite, false));
describe("handles on SQLite through better-sqlite3", () =>
  suite(() => sqliteBench((file) => new BetterSqlite3(file)), onBetterSqlite3, false));
