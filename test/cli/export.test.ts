/** What `ichido export` writes runs in the tools it is for, and leaves the tables that this version needs. */
import { createRequire } from "node:module";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { drizzle as drizzleSqlite } from "drizzle-orm/better-sqlite3";
import { migrate as migrateSqlite } from "drizzle-orm/better-sqlite3/migrator";
import { drizzle as drizzlePg } from "drizzle-orm/node-postgres";
import { migrate as migratePg } from "drizzle-orm/node-postgres/migrator";
import knex from "knex";
import { Pool } from "pg";
import { afterAll, describe, expect, it } from "vitest";
import { describeWith, freshDatabase } from "../support/services.ts";
import { ichidoHere, linesOf } from "./command-line.ts";

/** It comes without types. */
interface Client {
  close(): void;
}
const Database = createRequire(import.meta.url)("better-sqlite3") as new (path: string) => Client;

const folder = mkdtempSync(join(tmpdir(), "ichido-export-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const parts = ["--part", "records", "--part", "outbox", "--part", "inbox"];

const write = (tool: string, dialect: string, out: string) =>
  ichidoHere({ cwd: folder }, "export", "--for", tool, "--dialect", dialect, ...parts, "--out", out);

async function isUpToDate(address: string): Promise<void> {
  const { code, out } = await ichidoHere({}, "status", "--store", address, ...parts);
  expect([code, out]).toEqual([
    0,
    expect.stringMatching(/records +up to date\noutbox +up to date\ninbox +up to date\n$/),
  ]);
}

describe("ichido export", () => {
  it("prints SQL that a database takes as a script, without asking one", async () => {
    const { code, out } = await ichidoHere({ cwd: folder }, "export", "--dialect", "sqlite", ...parts);
    expect(code).toBe(0);
    const file = join(folder, "script.db");
    const database = new DatabaseSync(file);
    database.exec(out);
    database.close();
    await isUpToDate(file);
  });

  it("names tables as it is told, and files for programs", async () => {
    const args = ["export", "--dialect", "postgres", "--table-prefix", "mine_", "--schema", "keys", "--json"];
    const lines = linesOf((await ichidoHere({ cwd: folder }, ...args)).out);
    expect(lines[0]).toMatchObject({ type: "file", name: "ichido_records_0001_create_records.sql" });
    expect(String(lines[0]?.["text"])).toContain('"keys".mine_records');
    expect((await ichidoHere({ cwd: folder }, "export", "--for", "flyway", "--dialect", "mysql")).code).toBe(2);
    expect((await ichidoHere({ cwd: folder }, "export", "--store", "redis://localhost")).err).toMatch(
      /other stores have no tables/,
    );
  });

  it("for Drizzle on SQLite: its migrator runs the files, and a second export adds nothing", async () => {
    expect((await write("drizzle", "sqlite", "drizzle-sqlite")).code).toBe(0);
    const file = join(folder, "drizzle.db");
    const client = new Database(file);
    migrateSqlite(drizzleSqlite(client), { migrationsFolder: join(folder, "drizzle-sqlite") });
    client.close();
    await isUpToDate(file);
    const before = readdirSync(join(folder, "drizzle-sqlite"));
    const again = await write("drizzle", "sqlite", "drizzle-sqlite");
    expect([again.code, again.out, again.err]).toEqual([0, "", "all of them are there\n"]);
    expect(readdirSync(join(folder, "drizzle-sqlite"))).toEqual(before);
    const journal = JSON.parse(readFileSync(join(folder, "drizzle-sqlite/meta/_journal.json"), "utf8")) as {
      entries: unknown[];
    };
    expect(journal.entries).toHaveLength(before.length - 1);
  });
});

describeWith("postgres", "ichido export on PostgreSQL", (url) => {
  it("for Drizzle", async () => {
    await using database = await freshDatabase(url);
    await write("drizzle", "postgres", "drizzle-pg");
    const pool = new Pool({ connectionString: database.url, max: 1 });
    await migratePg(drizzlePg(pool), { migrationsFolder: join(folder, "drizzle-pg") });
    await pool.end();
    await isUpToDate(database.url);
  });
  it("for Knex", async () => {
    await using database = await freshDatabase(url);
    await write("knex", "postgres", "knex-pg");
    const client = knex({ client: "pg", connection: database.url });
    await client.migrate.latest({ directory: join(folder, "knex-pg"), loadExtensions: [".mjs"] });
    await client.destroy();
    await isUpToDate(database.url);
  });
});

describeWith("mariadb", "ichido export on MariaDB", (url) => {
  it("for Knex", async () => {
    await using database = await freshDatabase(url);
    await write("knex", "mysql", "knex-mysql");
    const client = knex({ client: "mysql2", connection: database.url.replace(/^mariadb:/, "mysql:") });
    await client.migrate.latest({ directory: join(folder, "knex-mysql"), loadExtensions: [".mjs"] });
    await client.destroy();
    await isUpToDate(database.url);
  });
});
