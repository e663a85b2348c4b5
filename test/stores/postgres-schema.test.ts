import { readFile } from "node:fs/promises";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createInbox } from "ichido/inbox";
import { postgresStore } from "ichido/postgres";
import { pgTransactions } from "ichido/transactions";
import { sampleResponse } from "ichido/testing";
import { freshDatabase, postgresUrl } from "../support/services.ts";
import type { FreshDatabase } from "../support/services.ts";
import { uniqueName } from "../support/unique-name.ts";
import { recordsPart } from "../../packages/ichido/src/stores/postgres/schema.ts";
import { grant, request } from "./postgres-life.ts";
import { describeSchema } from "./postgres-introspection.ts";

const serverUrl = await postgresUrl();
const tableNames = recordsPart("ichido_").tables ?? [];

describe("postgres, schema", () => {
  let database: FreshDatabase;
  let pool: pg.Pool;
  beforeAll(async () => {
    database = await freshDatabase(serverUrl);
    pool = new pg.Pool({ connectionString: database.url });
    pool.on("error", () => {});
  });
  afterAll(async () => {
    await pool.end();
    await database.drop();
  });

  it("S18 without tables every verb says schema-missing and what to run, and ping does too", async () => {
    const store = postgresStore(pool);
    const asked = request("key", "a");
    const claim = { ...asked, fence: 1 };
    const calls: Readonly<Record<string, () => Promise<unknown>>> = {
      ping: () => store.ping(),
      claim: () => store.claim(asked),
      complete: () => store.complete({ ...claim, response: sampleResponse() }),
      renew: () => store.renew([claim]),
      release: () => store.release(claim),
      find: () => store.find(asked.identity),
      list: () => store.list({ limit: 1 }),
      stats: () => store.stats(),
      sweep: () => store.sweep({ limit: 1, budgetMs: 100 }),
      tick: () => store.tick({ intervalMs: 1_000 }),
    };
    for (const [verb, call] of Object.entries(calls)) {
      await expect(call(), verb).rejects.toMatchObject({
        code: "schema-missing",
        message: expect.stringMatching(/store\.migrate\(\)/) as string,
      });
    }
  });

  it("plan tells what migrate would run, and nothing once it ran", async () => {
    const store = postgresStore(pool, { tablePrefix: "planned_" });
    const plan = await store.plan();
    expect(plan.map(({ version, name }) => [version, name])).toEqual([
      [1, "create_records"],
      [2, "create_functions"],
      [3, "create_step_functions"],
      [4, "create_joined_functions"],
      [5, "create_history"],
    ]);
    expect(await store.migrate()).toEqual(plan.map(({ version, name }) => ({ version, name })));
    expect(await store.plan()).toEqual([]);
    expect(await store.migrate()).toEqual([]);
    await store.ping();
  });

  it("what plan prints can be run by another tool, statement by statement, and migrate then finds it done", async () => {
    const store = postgresStore(pool, { tablePrefix: "printed_" });
    const client = await pool.connect();
    for (const sql of (await store.plan()).flatMap(({ statements }) => statements)) await client.query(sql);
    client.release();
    expect(await store.migrate()).toEqual([]);
    await store.ping();
    await grant(store, request("key", "a"));
  });

  it("ten processes that migrate at once do it once", async () => {
    const stores = Array.from({ length: 10 }, () => postgresStore(pool, { tablePrefix: "crowd_" }));
    await Promise.all(stores.map((store) => store.migrate()));
    const { rows } = await pool.query("select version from crowd_migrations order by version");
    expect(rows.map(({ version }) => version)).toEqual([1, 2, 3, 4, 5]);
    await Promise.all(stores.map((store) => store.ping()));
  });

  it("a migration that fails leaves nothing behind, and the connection usable", async () => {
    await pool.query("create table broken_steps (already int)");
    const store = postgresStore(pool, { tablePrefix: "broken_" });
    await expect(store.migrate()).rejects.toMatchObject({
      code: "store-unavailable",
      message: expect.stringMatching(/42P07/) as string,
    });
    const { rows } = await pool.query(
      "select to_regclass('broken_records') as records, to_regclass('broken_migrations') as ledger",
    );
    expect(rows).toEqual([{ records: null, ledger: null }]);
  });

  it("tables that another tool dropped are created anew, whatever it left of them", async () => {
    const store = postgresStore(pool, { tablePrefix: "dropped_" });
    const tables = tableNames.map((name) => `dropped_${name}`).join(", ");
    await store.migrate();
    // A library that drops all tables knows nothing of functions.
    await pool.query(`drop table ${tables}, dropped_migrations`);
    expect(await store.migrate()).toHaveLength(5);
    await grant(store, request("key", "a"));
    // The ledger stayed.
    await pool.query(`drop table ${tables}`);
    await expect(store.ping()).rejects.toMatchObject({ code: "schema-missing" });
    expect(await store.plan()).toHaveLength(5);
    expect(await store.migrate()).toHaveLength(5);
    await grant(store, request("key", "a"));
    // Everything was emptied, as between tests.
    await pool.query(`truncate ${tables}, dropped_migrations`);
    expect(await store.migrate()).toHaveLength(5);
    await store.ping();
    await grant(store, request("key", "a"));
    // Only the ledger: what is remembered stays, and nothing is guessed about it.
    await pool.query("truncate dropped_migrations");
    await expect(store.migrate()).rejects.toMatchObject({ message: /42P07/ });
    expect((await pool.query("select from dropped_records")).rowCount).toBe(1);
  });

  it("the inbox likewise: its function is left when its tables are gone", async () => {
    const inbox = createInbox({ transactions: pgTransactions(pool), tablePrefix: "left_", retentionMs: 60_000 });
    await inbox.migrate();
    const { rows } = await pool.query("select tablename from pg_tables where tablename like 'left\\_%'");
    await pool.query(`drop table ${rows.map((row: { tablename: string }) => row.tablename).join(", ")}`);
    expect(await inbox.migrate()).not.toEqual([]);
  });

  it("tables that were created without the schema that they are used with are found by their functions", async () => {
    await pool.query("create schema later");
    const at = (path: string): pg.Pool =>
      new pg.Pool({ connectionString: database.url, options: `-c search_path=${path}`, max: 2 });
    const creating = at("later");
    const elsewhere = at("pg_catalog");
    await postgresStore(creating, { tablePrefix: "later_" }).migrate();
    const store = postgresStore(elsewhere, { schema: "later", tablePrefix: "later_" });
    await expect(store.ping()).rejects.toMatchObject({ code: "schema-missing", message: /migrate/ });
    await expect(store.claim(request("key", "a"))).rejects.toMatchObject({
      code: "schema-missing",
      message: /migrate/,
    });
    expect((await store.plan()).map(({ name }) => name)).toEqual(["set_search_path"]);
    expect(await store.migrate()).toEqual([]);
    expect(await store.plan()).toEqual([]);
    await store.ping();
    const claim = await grant(store, request("key", "a"));
    expect(await store.complete({ ...claim, response: sampleResponse() })).toBe("ok");
    // Those who ask without it go on.
    const bare = postgresStore(creating, { tablePrefix: "later_" });
    expect((await bare.claim(request("key", "b"))).outcome).toBe("completed");
    await creating.end();
    await elsewhere.end();
  });

  it("tables of another content than this version's are refused", async () => {
    const store = postgresStore(pool, { tablePrefix: "altered_" });
    await store.migrate();
    await pool.query("update altered_migrations set checksum = 'other' where version = 1");
    await expect(store.migrate()).rejects.toMatchObject({
      code: "schema-missing",
      message: expect.stringMatching(/other content/) as string,
    });
  });

  it("S18 ping refuses tables that are older than this version needs", async () => {
    const store = postgresStore(pool, { tablePrefix: "older_" });
    await store.migrate();
    await pool.query("delete from older_migrations where version = 5");
    await expect(store.ping()).rejects.toMatchObject({
      code: "schema-missing",
      message: expect.stringMatching(/needs 5/) as string,
    });
  });

  it("S18 ping names the tables that the role may not write", async () => {
    const role = uniqueName("reader");
    await postgresStore(pool, { tablePrefix: "granted_" }).migrate();
    await pool.query(`create role ${role} login password 'secret'`);
    await pool.query(`grant select on all tables in schema public to ${role}`);
    const others = tableNames.filter((each) => each !== "records").map((each) => `granted_${each}`);
    await pool.query(`grant insert, update, delete on ${others.join(", ")} to ${role}`);
    const url = new URL(database.url);
    url.username = role;
    url.password = "secret";
    const account = new pg.Pool({ connectionString: url.href, max: 1 });
    account.on("error", () => {});
    const store = postgresStore(account, { tablePrefix: "granted_" });
    try {
      const denied = { code: "access-denied", message: expect.stringMatching(/grant/) as string };
      await expect(store.ping()).rejects.toMatchObject({
        ...denied,
        message: expect.stringMatching(/granted_records; grant/) as string,
      });
      await expect(store.claim(request("denied", "a"))).rejects.toMatchObject(denied);
      await pool.query(`grant insert, update, delete on granted_records to ${role}`);
      await store.ping();
      expect((await store.claim(request("denied", "a"))).outcome).toBe("granted");
    } finally {
      await account.end();
      await pool.query(`drop owned by ${role}`);
      await pool.query(`drop role ${role}`);
    }
  });

  it("S18 ping refuses a session whose commits are not waited for", async () => {
    const careless = new pg.Pool({ connectionString: database.url, options: "-c synchronous_commit=off", max: 1 });
    careless.on("error", () => {});
    const store = postgresStore(careless, { tablePrefix: "careless_" });
    await store.migrate();
    await expect(store.ping()).rejects.toMatchObject({
      code: "store-unavailable",
      message: expect.stringMatching(/synchronous_commit/) as string,
    });
    await careless.end();
  });

  it("a schema and a prefix of the user's own keep two stores of one database apart", async () => {
    const stores = [
      postgresStore(pool, { schema: "user", tablePrefix: "ichido_" }),
      postgresStore(pool, { schema: "select", tablePrefix: "x_" }),
      postgresStore(pool, { schema: "select", tablePrefix: "y_" }),
    ];
    for (const [index, store] of stores.entries()) {
      await store.migrate();
      const claim = await grant(store, request("key", `${index}`));
      expect(await store.complete({ ...claim, response: sampleResponse({ body: `${index}` }) })).toBe("ok");
    }
    for (const [index, store] of stores.entries()) {
      const answer = await store.claim(request("key", "late"));
      expect(answer.outcome === "completed" && Buffer.from(answer.response.body).toString()).toBe(`${index}`);
    }
    const { rows } = await pool.query(
      "select schemaname || '.' || tablename as t from pg_tables where tablename in ('ichido_records', 'x_records', 'y_records') order by 1",
    );
    expect(rows.map((row: { t: string }) => row.t)).toEqual([
      "select.x_records",
      "select.y_records",
      "user.ichido_records",
    ]);
  });

  it.each([
    [{ schema: 'a"; drop table x; --' }, "schema"],
    [{ schema: "Upper" }, "schema"],
    [{ tablePrefix: "a b" }, "tablePrefix"],
    [{ tablePrefix: "1a" }, "tablePrefix"],
    [{ tablePrefix: "x".repeat(31) }, "tablePrefix"],
    [{ groupSizeMax: 0 }, "groupSizeMax"],
    [{ lockTimeoutMs: 0 }, "lockTimeoutMs"],
    [{ lockTimeoutMs: 5_000, callTimeoutMs: 5_000 }, "lockTimeoutMs"],
    [{ callTimeoutMs: 1.5 }, "callTimeoutMs"],
  ])("refuses the options %j by name", (options, name) => {
    expect(() => postgresStore(pool, options)).toThrow(new RegExp(`^option ${name}: expected`));
  });

  it("refuses what is no client of PostgreSQL", () => {
    expect(() => postgresStore({} as pg.Pool)).toThrow(/Pool or Client of pg/);
  });

  it("the schema is the one on record", async () => {
    const clean = await freshDatabase(serverUrl);
    const client = new pg.Pool({ connectionString: clean.url, max: 1 });
    client.on("error", () => {});
    await postgresStore(client).migrate();
    const found = await describeSchema(client);
    await client.end();
    await clean.drop();
    const path = new URL("golden/postgres.sql", import.meta.url);
    if (process.env["UPDATE_GOLDEN"] === "1") await (await import("node:fs/promises")).writeFile(path, found);
    expect(found).toBe(await readFile(path, "utf8"));
  });
});
