/** Tables of the parts that reach a database through the user's own transactions. */
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { postgresStore } from "ichido/postgres";
import { pgTransactions } from "ichido/transactions";
import { Pool } from "pg";
import { expect, onTestFinished, test } from "vitest";
import { createRunnerMigrator } from "../../packages/ichido/src/sql/runner-migrator.ts";
import { checkPrefix } from "../../packages/ichido/src/sql/table-prefix.ts";
import { onBetterSqlite3 } from "../effects/libraries.ts";
import { forEachDatabase } from "./inbox-databases.ts";

const first = {
  version: 1,
  name: "create",
  sql: `-- A comment; with a semicolon and a 'quote.
create table {prefix}outbox_one (id integer primary key, note varchar(20) default 'a;b');
/* another; */
create table {prefix}outbox_two (id integer primary key);
`,
};
const second = { version: 2, name: "add", sql: "alter table {prefix}outbox_two add column more integer;\n" };
const every = (...steps: (typeof first)[]) => ({ postgres: steps, mysql: steps, sqlite: steps });

forEachDatabase("migrations", (open) => {
  const migratorOf = (prefix: string, ...steps: (typeof first)[]) => {
    const { runner } = open().side();
    return createRunnerMigrator({ transactions: runner, part: "outbox", migrations: every(...steps), prefix }).migrator;
  };
  const countOf = (migrations: readonly unknown[]): number => migrations.length;
  const tables = async (prefix: string): Promise<number> => {
    const sql = `select o.id, o.note, t.id, t.more from ${prefix}outbox_one o, ${prefix}outbox_two t`;
    return open()
      .side()
      .runner.run(async (_tx, handle) => (await handle.execute(sql, [])).rows.length);
  };

  test("four at once apply each step once", async () => {
    const prefix = checkPrefix(open().dialect, "four_");
    const done = await Promise.all(Array.from({ length: 4 }, () => migratorOf(prefix, first, second).migrate()));
    expect(done.map(countOf).toSorted((one, other) => one - other)).toEqual([0, 0, 0, 2]);
    expect(await tables(prefix)).toBe(0);
  });

  test("later steps come on top, and a missing one is named with what to do", async () => {
    const prefix = checkPrefix(open().dialect, "later_");
    const transactions = open().side().runner;
    const check = (...steps: (typeof first)[]) =>
      createRunnerMigrator({ transactions, part: "outbox", migrations: every(...steps), prefix }).requireSchema();
    await expect(check(first)).rejects.toMatchObject({
      code: "schema-missing",
      message: expect.stringContaining("outbox.migrate()"),
    });
    expect(await migratorOf(prefix, first).migrate()).toEqual([{ version: 1, name: "create" }]);
    await check(first);
    await expect(check(first, second)).rejects.toMatchObject({ message: expect.stringContaining("migration 2 (add)") });
    expect(await migratorOf(prefix, first, second).migrate()).toEqual([{ version: 2, name: "add" }]);
    expect(await migratorOf(prefix, first, second).migrate()).toEqual([]);
    await check(first, second);
  });

  test("a step that ran with other content is refused", async () => {
    const prefix = checkPrefix(open().dialect, "other_");
    await migratorOf(prefix, first).migrate();
    const changed = { ...first, sql: `${first.sql}-- changed\n` };
    await expect(migratorOf(prefix, changed).migrate()).rejects.toMatchObject({ code: "schema-missing" });
    await expect(migratorOf(prefix, changed).plan()).rejects.toMatchObject({ code: "schema-missing" });
  });

  test("a step that fails leaves no lock behind, and the next attempt goes through", async () => {
    const prefix = checkPrefix(open().dialect, "fails_");
    const broken = { ...second, sql: "alter table {prefix}nowhere add column more integer;\n" };
    const side = open().side();
    const make = (...steps: (typeof first)[]) =>
      createRunnerMigrator({ transactions: side.runner, part: "outbox", migrations: every(...steps), prefix }).migrator;
    await make(first).migrate();
    await expect(make(first, broken).migrate()).rejects.toThrow(/nowhere/);
    const done = await Promise.all([make(first, second).migrate(), migratorOf(prefix, first, second).migrate()]);
    expect(done.map(countOf).toSorted((one, other) => one - other)).toEqual([0, 1]);
  });

  test("a step that died before it was noted is done again", async () => {
    const prefix = checkPrefix(open().dialect, "half_");
    const index = { version: 3, name: "find", sql: "create index {prefix}more on {prefix}outbox_two (more);\n" };
    await migratorOf(prefix, first, second, index).migrate();
    // Where a step is one transaction, it leaves nothing behind.
    if (open().dialect === "mysql") await open().script(`delete from ${prefix}migrations where version > 1`);
    const again = open().dialect === "mysql" ? 2 : 0;
    expect(await migratorOf(prefix, first, second, index).migrate()).toHaveLength(again);
    expect(await tables(prefix)).toBe(0);
  });

  test("the plan, run by hand, is what migrate would have done", async () => {
    const prefix = checkPrefix(open().dialect, "plan_");
    const migrator = migratorOf(prefix, first, second);
    const planned = await migrator.plan();
    expect(planned.map(({ version, name }) => [version, name])).toEqual([
      [1, "create"],
      [2, "add"],
    ]);
    for (const sql of planned.flatMap(({ statements }) => statements)) await open().script(sql);
    expect(await tables(prefix)).toBe(0);
    expect(await migrator.plan()).toEqual([]);
    expect(await migrator.migrate()).toEqual([]);
  });

  test("a schema of PostgreSQL is made where it is missing", async (context) => {
    if (open().dialect !== "postgres") return context.skip("schemas are PostgreSQL's");
    const prefix = checkPrefix("postgres", "ichido_", "apart");
    expect(prefix).toBe('"apart".ichido_');
    expect(await migratorOf(prefix, first, second).migrate()).toHaveLength(2);
    expect(await tables(prefix)).toBe(0);
  });

  test.each(["repeatable read", "serializable"])(
    "four at once apply each step once where sessions are %s",
    async (level) => {
      if (open().dialect !== "postgres") return;
      const options = `-c default_transaction_isolation=${level.replace(" ", "\\ ")}`;
      const pools = Array.from({ length: 4 }, () => new Pool({ connectionString: open().url, max: 1, options }));
      onTestFinished(async () => {
        for (const pool of pools) await pool.end();
      });
      const tablePrefix = `${level.replace(" ", "_")}_`;
      const prefix = checkPrefix("postgres", tablePrefix);
      const migrations = every(first, second);
      const parts = pools.map((pool) =>
        createRunnerMigrator({ transactions: pgTransactions(pool), part: "outbox", migrations, prefix }),
      );
      const done = await Promise.all(parts.map(({ migrator }) => migrator.migrate()));
      expect(done.map(countOf).toSorted((one, other) => one - other)).toEqual([0, 0, 0, 2]);
      expect(await tables(prefix)).toBe(0);
      await Promise.all(pools.map((pool) => postgresStore(pool, { tablePrefix }).migrate()));
      expect(await postgresStore(pools[0] as Pool, { tablePrefix }).plan()).toEqual([]);
    },
  );
});

test.each(["", "A_", "a b", "a;", 'x".y', "a".repeat(31)])("the prefix %j is refused", (prefix) => {
  expect(() => checkPrefix("mysql", prefix)).toThrow(/^option tablePrefix: expected/);
});

/** Writes, and commits after a while; by the same library, since two in one process do not see each other's locks. */
const writer = `
const { parentPort, workerData } = require("node:worker_threads");
const database = new (require(workerData.library))(workerData.file);
database.pragma("journal_mode = WAL");
database.exec("BEGIN IMMEDIATE; CREATE TABLE written (id INTEGER)");
parentPort.postMessage("writing");
setTimeout(() => {
  database.exec("COMMIT");
  database.close();
}, 300);`;
const betterSqlite3 = createRequire(import.meta.url).resolve("better-sqlite3");

// Each of them begins without the write lock.
test.each(["kysely", "knex", "typeorm"])("on SQLite through %s waits for whoever writes", async (library) => {
  const folder = mkdtempSync(join(tmpdir(), "ichido-migrate-"));
  const file = join(folder, "shop.db");
  const wrapped = await onBetterSqlite3[library]?.(file);
  if (wrapped === undefined) throw new Error(`no ${library}`);
  onTestFinished(async () => {
    await wrapped.close();
    rmSync(folder, { recursive: true });
  });
  const migratorOf = (...steps: (typeof first)[]) =>
    createRunnerMigrator({ transactions: wrapped.runner, part: "outbox", migrations: every(...steps), prefix: "a_" })
      .migrator;
  await migratorOf(first).migrate();
  const worker = new Worker(writer, { eval: true, workerData: { file, library: betterSqlite3 } });
  await new Promise((resolve) => worker.once("message", resolve));
  const ended = new Promise((resolve) => worker.once("exit", resolve));
  expect(await migratorOf(first, second).migrate()).toEqual([{ version: 2, name: "add" }]);
  await ended;
});
