import { readFileSync, writeFileSync } from "node:fs";
import { mysqlStore } from "ichido/mysql";
import { afterEach, beforeEach, expect, test } from "vitest";
import { describeWith, freshDatabase } from "../support/services.ts";
import type { FreshDatabase } from "../support/services.ts";
import { uniqueName } from "../support/unique-name.ts";
import { openClient } from "./mysql-clients.ts";
import type { Client } from "./mysql-clients.ts";
import { liveOneLife, request } from "./mysql-life.ts";

describeWith("mariadb", "schema of the mysql store", (url) => {
  let database: FreshDatabase;
  let client: Client;
  beforeEach(async () => {
    database = await freshDatabase(url);
    client = openClient("mysql2", database.url, { connections: 8 });
  });
  afterEach(async () => {
    await client.end();
    await database.drop();
  });

  async function dump(prefix = "ichido_"): Promise<string> {
    const history = ["log_pages", "attempts", "processes", "twins", "resources", "log_sweep", "engines"];
    const tables = ["records", "labels", "steps", "audit", "clock", ...history, "migrations"];
    const texts: string[] = [];
    for (const table of tables) {
      const [row] = await client.rows(`show create table ${prefix}${table}`);
      texts.push(String(row?.["Create Table"]).replace(/ AUTO_INCREMENT=\d+/, ""));
    }
    return `${texts.join(";\n\n")};\n`;
  }

  test("the tables are those of the golden dump, to the letter", async () => {
    await mysqlStore(client.pool).migrate();
    const golden = new URL("./golden/mysql.sql", import.meta.url);
    if (process.env["UPDATE_GOLDEN"] === "1") writeFileSync(golden, await dump());
    expect(await dump()).toBe(readFileSync(golden, "utf8"));
  });

  test("plan shows what migrate will do, and nothing once it is done", async () => {
    const store = mysqlStore(client.pool);
    const planned = await store.plan();
    expect(planned.map(({ version, name }) => [version, name])).toEqual([
      [1, "create_records"],
      [2, "create_history"],
    ]);
    const [first = []] = planned.map(({ statements }) => statements);
    expect(first.slice(0, -1).every((sql) => sql.startsWith("create table if not exists ichido_"))).toBe(true);
    expect(first.at(-1)).toMatch(/^insert into ichido_migrations /);
    expect(await client.rows("show tables")).toEqual([]);
    expect(await store.migrate()).toEqual(planned.map(({ version, name }) => ({ version, name })));
    expect(await store.plan()).toEqual([]);
    expect(await store.migrate()).toEqual([]);
  });

  test("the statements of plan, run one by one by another tool, make the same tables", async () => {
    const store = mysqlStore(client.pool, { tablePrefix: "other_" });
    for (const { statements } of await store.plan()) for (const sql of statements) await client.rows(sql);
    expect(await store.migrate()).toEqual([]);
    await liveOneLife(store, "life");
  });

  test("migrations that died half-way, each after any of its statements, are run again to their end", async () => {
    const store = mysqlStore(client.pool);
    const all = (await store.plan()).flatMap(({ statements }) => statements);
    for (let done = 2; done <= all.length; done += 1) {
      const prefix = `half${done}_`;
      const half = mysqlStore(client.pool, { tablePrefix: prefix });
      const statements = (await half.plan()).flatMap((each) => each.statements);
      for (const sql of statements.slice(0, done)) await client.rows(sql);
      await half.migrate();
      await liveOneLife(half, "life");
    }
  });

  test("of eight processes that migrate at once one does it and all succeed", async () => {
    const done = await Promise.all(
      Array.from({ length: 8 }, async (_, index) => {
        const own = openClient(index % 2 === 0 ? "mysql2" : "mariadb", database.url, { connections: 1 });
        try {
          return (await mysqlStore(own.pool).migrate()).length;
        } finally {
          await own.end();
        }
      }),
    );
    expect(done.filter((count) => count === 2)).toHaveLength(1);
    expect(done.filter((count) => count === 0)).toHaveLength(7);
  });

  test("two prefixes live side by side in one database", async () => {
    for (const tablePrefix of ["one_", "two_"]) {
      const store = mysqlStore(client.pool, { tablePrefix });
      await store.migrate();
      await liveOneLife(store, "life");
    }
  });

  test("S18 without tables every verb and ping say schema-missing, and go on once they are there", async () => {
    const store = mysqlStore(client.pool);
    const missing = { code: "schema-missing", message: expect.stringContaining("migrate") };
    await expect(store.ping()).rejects.toMatchObject(missing);
    await expect(store.claim(request("key", "a"))).rejects.toMatchObject(missing);
    await expect(store.sweep({ limit: 1, budgetMs: 1 })).rejects.toMatchObject(missing);
    await store.migrate();
    await store.ping();
    expect((await store.claim(request("key", "a"))).outcome).toBe("granted");
    await client.rows("alter table ichido_records drop column step_starts");
    await expect(store.release({ ...request("key", "a"), fence: 1 })).rejects.toMatchObject(missing);
  });

  test("S18 ping refuses tables without the columns of the newest migration", async () => {
    const store = mysqlStore(client.pool);
    await store.migrate();
    await client.rows("alter table ichido_records drop column released_fence");
    await expect(store.ping()).rejects.toMatchObject({ code: "schema-missing" });
  });

  test.each(["insert", "update", "delete"])("S18 ping names the right to %s that the account lacks", async (right) => {
    await mysqlStore(client.pool).migrate();
    const [row] = await client.rows("select substring_index(user(), '@', -1) as host");
    const name = uniqueName("reader");
    const account = `'${name}'@'${String(row?.["host"])}'`;
    const others = ["insert", "update", "delete"].filter((each) => each !== right).join(", ");
    const url = new URL(database.url);
    await client.rows(`create user ${account} identified by 'secret'`);
    await client.rows(`grant select, ${others} on \`${url.pathname.slice(1)}\`.* to ${account}`);
    url.username = name;
    const theirs = openClient("mysql2", url.href, { mysql2: { password: "secret" } });
    try {
      await expect(mysqlStore(theirs.pool).ping()).rejects.toMatchObject({
        code: "access-denied",
        message: expect.stringMatching(/grant/) as string,
      });
    } finally {
      await theirs.end();
      await client.rows(`drop user ${account}`);
    }
  });

  test("a database that does not exist is called that", async () => {
    const nowhere = openClient("mysql2", database.url.replace(/\/[^/]*$/, "/ichido_nowhere"));
    await expect(mysqlStore(nowhere.pool).ping()).rejects.toMatchObject({
      message: expect.stringMatching(/database does not exist/) as string,
    });
    await nowhere.end();
  });

  test("an altered migration in the ledger is refused, a newer one is not", async () => {
    const store = mysqlStore(client.pool);
    await store.migrate();
    await client.rows("insert into ichido_migrations values ('records', 99, 'from_the_future', repeat('a', 64), 1)");
    expect(await store.plan()).toEqual([]);
    await client.rows("update ichido_migrations set checksum = repeat('b', 64) where version = 1");
    await expect(store.migrate()).rejects.toMatchObject({ code: "schema-missing" });
  });

  test("the server keeps states, kinds and answers within what the contract allows", async () => {
    const store = mysqlStore(client.pool);
    await store.migrate();
    await store.claim(request("key", "a"));
    for (const change of ["state = 'done'", "response_kind = 'half'", "state = 'completed'"]) {
      await expect(client.rows(`update ichido_records set ${change}`), change).rejects.toMatchObject({ errno: 4025 });
    }
  });

  test("options are checked when the store is made", () => {
    const bad = ["", "9a_", "a-b", "a.b", "a`b", `a${"b".repeat(31)}`, "drop table x; --"];
    for (const tablePrefix of bad) expect(() => mysqlStore(client.pool, { tablePrefix })).toThrow(/tablePrefix/);
    for (const callTimeoutMs of [0, 1.5, Number.NaN, 1e9]) {
      expect(() => mysqlStore(client.pool, { callTimeoutMs })).toThrow(/callTimeoutMs/);
    }
    for (const pool of [undefined, null, {}, "mysql://"]) {
      // @ts-expect-error not a client
      expect(() => mysqlStore(pool)).toThrow(/mysql2 or mariadb/);
    }
  });
});
