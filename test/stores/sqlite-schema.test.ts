/** Tables: made only when asked for, the same as the golden file, and every statement finds its rows by an index. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { openSqliteStore, sqliteStore } from "ichido/sqlite";
import { sampleFingerprint, sampleIdentity, sampleOwner } from "ichido/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { statementsFor } from "../../packages/ichido/src/stores/sqlite/statements.ts";
import { temporaryFile, type TemporaryFile } from "./sqlite-files.ts";

/** Parts of statements (`rule-*`) are none by themselves. */
const statements = statementsFor("ichido_");
const wholes = Object.entries(statements).filter(([name]) => !name.startsWith("rule"));

let file: TemporaryFile;
let database: DatabaseSync;

beforeEach(() => {
  file = temporaryFile();
  database = new DatabaseSync(file.path);
});

afterEach(() => {
  if (database.isOpen) database.close();
  file.remove();
});

const tables = (like = "ichido%") =>
  database
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name LIKE ?")
    .all(like)
    .map((row) => row["name"]);

function schema(): string {
  const rows = database.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type DESC, name").all();
  return `${rows.map((row) => `${String(row["sql"])};`).join("\n\n")}\n`;
}

const request = {
  identity: sampleIdentity("key"),
  owner: sampleOwner("owner"),
  fingerprint: sampleFingerprint(),
  leaseMs: 30_000,
  retentionMs: 86_400_000,
  takeover: "lapsed",
} as const;

describe("sqlite: schema", () => {
  it("the schema equals the golden file", async () => {
    await sqliteStore(database).migrate();
    const golden = new URL("golden/sqlite.sql", import.meta.url);
    if (process.env["UPDATE_GOLDEN"] === "1") writeFileSync(golden, schema());
    expect(schema()).toBe(readFileSync(golden, "utf8"));
  });

  it("a store that is made and asked creates nothing by itself and names the way out", async () => {
    const store = sqliteStore(database);
    for (const call of [() => store.claim(request), () => store.find(request.identity), () => store.ping()]) {
      await expect(call()).rejects.toMatchObject({
        code: "schema-missing",
        message: expect.stringContaining("store.migrate()"),
      });
    }
    expect(tables()).toEqual([]);
    await store.migrate();
    expect(await store.claim(request)).toMatchObject({ outcome: "granted" });
  });

  it("tables that vanish under a running store are reported as missing, not as an outage", async () => {
    const store = sqliteStore(database);
    await store.migrate();
    await store.claim(request);
    for (const name of tables()) database.exec(`DROP TABLE ${String(name)}`);
    await expect(store.claim(request)).rejects.toMatchObject({ code: "schema-missing" });
  });

  it("plan() gives the SQL that migrate() would run, and nothing once it ran", async () => {
    const store = sqliteStore(database);
    const plan = await store.plan();
    expect(tables()).toEqual([]);
    for (const { statements: each } of plan) for (const sql of each) database.prepare(sql).run();
    const planned = schema();
    expect(await store.plan()).toEqual([]);
    expect(await store.migrate()).toEqual([]);
    expect(await store.claim(request)).toMatchObject({ outcome: "granted" });
    database.close();
    file.remove();

    file = temporaryFile();
    database = new DatabaseSync(file.path);
    expect(await sqliteStore(database).migrate()).toHaveLength(2);
    expect(schema()).toBe(planned);
  });

  it("a migration whose text is not the one that ran is refused", async () => {
    const store = sqliteStore(database);
    await store.migrate();
    database.exec("UPDATE ichido_migrations SET checksum = 'something else'");
    for (const call of [() => store.migrate(), () => store.plan(), () => sqliteStore(database).claim(request)]) {
      await expect(call()).rejects.toMatchObject({
        code: "schema-missing",
        message: expect.stringContaining("other content"),
      });
    }
  });

  it("a migration of a later version does not stop this one", async () => {
    const store = sqliteStore(database);
    await store.migrate();
    database.exec("INSERT INTO ichido_migrations VALUES ('records', 999, 'from_the_future', 'x', 1)");
    expect(await sqliteStore(database).claim(request)).toMatchObject({ outcome: "granted" });
    expect(await store.plan()).toEqual([]);
  });

  it("a failed migration leaves nothing behind", async () => {
    database.exec("CREATE TABLE ichido_steps (mine TEXT)");
    await expect(sqliteStore(database).migrate()).rejects.toMatchObject({ code: "store-unavailable" });
    expect(tables()).toEqual(["ichido_steps"]);
  });

  it("openSqliteStore migrates when asked to and closes its file", async () => {
    database.close();
    const store = await openSqliteStore(file.path, { migrate: true });
    expect(await store.claim(request)).toMatchObject({ outcome: "granted" });
    expect(existsSync(`${file.path}-wal`)).toBe(true);
    await store.close();
    // The last connection to close a file removes its log.
    expect(existsSync(`${file.path}-wal`)).toBe(false);
    database = new DatabaseSync(file.path);
  });

  it("two prefixes live side by side in one file, and each store sees its own records alone", async () => {
    const [one, two] = ["one_", "two_"].map((tablePrefix) => sqliteStore(database, { tablePrefix }));
    await one?.migrate();
    expect(tables("one_%")).toHaveLength(tables("%").length);
    await expect(two?.claim(request)).rejects.toMatchObject({ code: "schema-missing" });
    await two?.migrate();
    expect(await two?.migrate()).toEqual([]);
    const granted = await one?.claim({ ...request, labels: { order: "1" } });
    if (granted?.outcome !== "granted") throw new Error("the first claim was not granted");
    expect(await two?.find(request.identity)).toBeUndefined();
    expect(await two?.claim(request)).toMatchObject({ outcome: "granted", origin: "new" });
    const held = { ...request, fence: granted.fence };
    expect(await one?.startStep?.({ ...held, name: "charge" })).toBe("ok");
    expect(await one?.release(held)).toBe("ok");
    expect(await one?.list({ limit: 10, label: { name: "order", value: "1" } })).toMatchObject({
      records: [{ state: "failed", stepsStarted: 1 }],
    });
    expect(await two?.stats()).toMatchObject({ records: 1, processing: 1, failed: 0 });
  });

  it("a prefix that would need quotes is refused by name", () => {
    expect(() => sqliteStore(database, { tablePrefix: "My-" })).toThrow(/^option tablePrefix: expected lower-case/);
  });

  it("a state that does not exist, and a completed record without an answer, cannot be written", async () => {
    const store = sqliteStore(database);
    await store.migrate();
    await store.claim(request);
    expect(() => database.exec("UPDATE ichido_records SET state = 'unknown'")).toThrow(/CHECK/);
    expect(() => database.exec("UPDATE ichido_records SET state = 'completed'")).toThrow(/CHECK/);
  });
});

describe("sqlite: plans", () => {
  /**
   * What may be read from end to end: a constant, the label object of one record, the schema, rows of one
   * slice, a row for each engine and each process. And the audit, by who forgets a customer: reasons are found by their
   * words, and people make few.
   */
  const scansAllowed =
    /^SCAN (CONSTANT ROW|label VIRTUAL TABLE .*|sqlite_schema|ichido_engines|ichido_processes|\(subquery-\d+\))$/;

  for (const [name, sql] of wholes) {
    it(`${name} finds its rows without reading a whole table`, async () => {
      await sqliteStore(database).migrate();
      const plan = database
        .prepare(`EXPLAIN QUERY PLAN ${sql}`)
        .all()
        .map((row) => String(row["detail"]));
      const readsAudit = name === "findReasons" || name === "emptyReasons";
      const allowed = (line: string): boolean =>
        scansAllowed.test(line) || (readsAudit && line === "SCAN ichido_audit");
      expect(plan.filter((line) => line.startsWith("SCAN") && !allowed(line))).toEqual([]);
      if (name.startsWith("list") || name.startsWith("sweepPick")) {
        expect(plan.filter((line) => line.includes("TEMP B-TREE"))).toEqual([]);
      }
    });
  }

  it("the sweep and the listing of open records use their partial indexes", async () => {
    await sqliteStore(database).migrate();
    const plan = (sql: string) => JSON.stringify(database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all());
    expect(plan(statements.sweepPick)).toContain("ichido_records_expires");
    expect(plan(statements.sweepPickSpent)).toContain("ichido_records_spent");
    expect(plan(statements.listOpen)).toContain("ichido_records_open");
    expect(plan(statements.listOpenBoundary)).toContain("COVERING INDEX ichido_records_open");
  });

  it("every statement says its purpose, parameters, rows and guarantee", () => {
    const folder = new URL("../../packages/ichido/src/stores/sqlite/sql/", import.meta.url);
    for (const [name] of wholes) {
      const path = new URL(`${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}.sql`, folder);
      const text = readFileSync(path, "utf8");
      for (const word of [/^-- \w/, /^-- Parameters: /m, /^-- Rows: /m, /^-- Guarantee: /m]) expect(text).toMatch(word);
    }
  });
});
