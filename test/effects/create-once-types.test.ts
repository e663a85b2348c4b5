/** `createOnce` compares with what the column made of a value: a repeat is the same, whatever the column's type. */
import { createByClientId, createOnce } from "ichido/guards";
import type { ColumnValue } from "ichido/guards";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeWith } from "../support/services.ts";
import { mariadbBench, postgresBench } from "./databases.ts";
import type { Bench } from "./databases.ts";
import { onMariadb, onPostgres } from "./libraries.ts";
import type { Wrapped } from "./libraries.ts";

const at = (ms: number): Date => new Date(Date.UTC(2024, 4, 5, 10, 11, 12, ms));

/** A column, what is created in it, and values that are another content. */
const cases: readonly (readonly [type: string, value: ColumnValue, ...others: ColumnValue[]])[] = [
  ["decimal(10,2)", "10.5", "10.51", 10.4],
  ["decimal(10,2)", 10.5, 10.51],
  ["datetime", at(345), at(1_345)],
  ["datetime(3)", at(345), at(346)],
  ["timestamp(6) NULL", "2024-05-05 10:11:12.345678", "2024-05-05 10:11:12.345679"],
  ["time(1)", "10:11:12.34", "10:11:12.44"],
  ["date", "2024-05-05", "2024-05-06"],
  ["year", 2024, 2025],
  ["float", 0.1, 0.1000001],
  ["double", 0.1, 0.1000000001],
  ["int", "7", "8"],
  ["bigint", 9_007_199_254_740_993n, 9_007_199_254_740_992n],
  ["boolean", true, false],
  ["varchar(40) character set latin1", "café", "cafe", "CAFÉ", "café "],
  ["varchar(40) character set utf8mb4", "Ann 日本", "ann 日本", "Ánn 日本", "Ann 日本 "],
  ["varchar(40) character set ucs2", "Ann", "ann"],
  ["varchar(40)", 5, "05", "5.0"],
  ["char(10)", "ab ", "Ab", "abc"],
  ["text", "it's", "It's"],
  ["enum('new','old')", "new", "old"],
  ["varbinary(20)", new Uint8Array([1, 2, 3]), new Uint8Array([1, 2])],
  ["binary(5)", new Uint8Array([1, 2, 3]), new Uint8Array([1, 2])],
  ["json", '{"b":1, "a":2}', '{"b":1, "a":3}'],
];

describeWith("mariadb", "createOnce on MariaDB", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await mariadbBench();
    const side = bench.side();
    await side.runner.run(
      async (_tx, handle) => {
        for (const [index, [type]] of cases.entries())
          await handle.execute(`CREATE TABLE c${index} (id varchar(40) PRIMARY KEY, c ${type})`, []);
        await handle.execute("CREATE TABLE named (id varchar(40) PRIMARY KEY, c varchar(40))", []);
      },
      { unwatched: true },
    );
    await side.close();
  });
  afterAll(() => bench?.close());

  describe.each(Object.keys(onMariadb))("%s", (library) => {
    let wrapped: Wrapped;
    beforeAll(async () => {
      wrapped = (await onMariadb[library]?.(bench.url)) as Wrapped;
    });
    afterAll(() => wrapped?.close());

    test.each(cases.map(([type, value, ...others], index) => ({ type, value, others, table: `c${index}` })))(
      "guards: $value in $type is the same when repeated, and nothing else is",
      async ({ value, others, table }) => {
        const create = (c: ColumnValue) =>
          wrapped.runner.run((_tx, handle) => createOnce(handle, { table, key: { id: library }, content: { c } }));
        expect(await create(value)).toEqual({ outcome: "created" });
        expect(await create(value)).toEqual({ outcome: "same" });
        for (const other of [...others, null])
          expect([other, await create(other)]).toEqual([other, { outcome: "conflict" }]);
      },
    );

    test("guards: an id that only the collation finds equal is a conflict", async () => {
      const create = (id: string) =>
        wrapped.runner.run((_tx, handle) => createByClientId(handle, { table: "named", id, content: { c: "x" } }));
      expect(await create(`Ann ${library}`)).toEqual({ outcome: "created" });
      expect(await create(`Ann ${library}`)).toEqual({ outcome: "same" });
      for (const id of [`ann ${library}`, `Ánn ${library}`, `Ann ${library} `])
        expect([id, await create(id)]).toEqual([id, { outcome: "conflict" }]);
    });
  });
});

const postgresCases: typeof cases = [
  ["numeric(10,2)", "10.5", "10.51"],
  ["numeric(10,2)", "10.555", "10.55"],
  ["time(1)", "10:11:12.34", "10:11:12.44"],
  ["timestamptz(0)", at(345), at(1_345)],
  ["timestamptz(3)", at(345), at(346)],
  ["date", "2024-05-05", "2024-05-06"],
  ["real", 0.1, 0.2],
  ["double precision", 0.1, 0.1000000001],
  ["integer", 7, 8],
  ["bigint", 9_007_199_254_740_993n, 9_007_199_254_740_992n],
  ["boolean", true, false],
  ["varchar(40)", "café", "cafe", "CAFÉ"],
  ["char(10)", "ab ", "Ab", "abc"],
  ["text", "it's", "It's"],
  ["uuid", "6f1f8d56-7d0c-4b7e-9d7a-111111111111", "6f1f8d56-7d0c-4b7e-9d7a-111111111112"],
  ["bytea", new Uint8Array([1, 2, 255]), new Uint8Array([1, 2])],
  ["json", '{"b":1, "a":2}', '{"b":1, "a":3}'],
  ["jsonb", '{"b":1, "a":2}', '{"b":1, "a":3}'],
];

describeWith("postgres", "createOnce on PostgreSQL", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await postgresBench();
    const side = bench.side();
    await side.runner.run(async (_tx, handle) => {
      for (const [index, [type]] of postgresCases.entries())
        await handle.execute(`CREATE TABLE c${index} (id varchar(40) PRIMARY KEY, c ${type})`, []);
    });
    await side.close();
  });
  afterAll(() => bench?.close());

  describe.each(Object.keys(onPostgres))("%s", (library) => {
    let wrapped: Wrapped;
    beforeAll(async () => {
      wrapped = (await onPostgres[library]?.(bench.url)) as Wrapped;
    });
    afterAll(() => wrapped?.close());

    test.each(postgresCases.map(([type, value, ...others], index) => ({ type, value, others, table: `c${index}` })))(
      "guards: $value in $type is the same when repeated, and nothing else is",
      async ({ value, others, table }) => {
        const create = (c: ColumnValue) =>
          wrapped.runner.run((_tx, handle) => createOnce(handle, { table, key: { id: library }, content: { c } }));
        expect(await create(value)).toEqual({ outcome: "created" });
        expect(await create(value)).toEqual({ outcome: "same" });
        for (const other of [...others, null])
          expect([other, await create(other)]).toEqual([other, { outcome: "conflict" }]);
      },
    );
  });
});
