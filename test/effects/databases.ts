/** One database of each kind with the records and a business table in it, seen from inside and from outside. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { mysqlStore } from "ichido/mysql";
import { postgresStore } from "ichido/postgres";
import { sqliteStore } from "ichido/sqlite";
import type { SqliteDatabase } from "ichido/sqlite";
import { createPool } from "mysql2/promise";
import { Pool } from "pg";
import type { SqliteTransactionsOptions } from "ichido/transactions";
import { openSide } from "./sides.ts";
import type { Side } from "./sides.ts";
import { freshDatabase, mariadbUrl, postgresUrl } from "../support/services.ts";

export { addEffect } from "./sides.ts";
export type { Side } from "./sides.ts";

export interface Bench<Dialect extends string = "postgres" | "mysql" | "sqlite"> {
  readonly dialect: Dialect;
  /** The address for another process, or for a proxy. */
  readonly url: string;
  /** A process of its own, as far as the database can tell. Through another address where one is given. */
  side(url?: string): Side;
  /** The effects of an operation that are committed, as somebody else sees them. */
  effects(name?: string): Promise<readonly string[]>;
  records(): Promise<number>;
  close(): Promise<void>;
}

const create = "CREATE TABLE effects (id integer PRIMARY KEY, name varchar(200) NOT NULL, once varchar(200) UNIQUE)";

function namesOf(rows: readonly unknown[]): string[] {
  return rows.map((row) => String((row as { readonly name: unknown }).name));
}

export async function postgresBench(): Promise<Bench> {
  const database = await freshDatabase(await postgresUrl());
  const outside = new Pool({ connectionString: database.url, max: 2 });
  // Dropping the database ends connections; that is no news.
  outside.on("error", () => {});
  await outside.query(create.replace("integer PRIMARY KEY", "bigint GENERATED ALWAYS AS IDENTITY"));
  const migrating = postgresStore(outside);
  await migrating.migrate();
  await migrating.close();
  return {
    dialect: "postgres",
    url: database.url,
    side: (url = database.url) => openSide("postgres", url),
    async effects(name) {
      const { rows } = await outside.query("SELECT name FROM effects WHERE $1::text IS NULL OR name = $1 ORDER BY id", [
        name ?? null,
      ]);
      return namesOf(rows);
    },
    async records() {
      const { rows } = await outside.query("SELECT count(*)::int AS name FROM ichido_records");
      return Number(namesOf(rows)[0]);
    },
    async close() {
      await outside.end();
      await database.drop();
    },
  };
}

export async function mariadbBench(): Promise<Bench> {
  const database = await freshDatabase(await mariadbUrl());
  const outside = createPool({ uri: database.url, connectionLimit: 2 });
  await outside.query(create.replace("integer PRIMARY KEY", "bigint PRIMARY KEY AUTO_INCREMENT"));
  const migrating = mysqlStore(outside);
  await migrating.migrate();
  await migrating.close();
  return {
    dialect: "mysql",
    url: database.url,
    side: (url = database.url) => openSide("mysql", url),
    async effects(name) {
      const [rows] = await outside.query("SELECT name FROM effects WHERE ? IS NULL OR name = ? ORDER BY id", [
        name ?? null,
        name ?? null,
      ]);
      return namesOf(rows as unknown[]);
    },
    async records() {
      const [rows] = await outside.query("SELECT count(*) AS name FROM ichido_records");
      return Number(namesOf(rows as unknown[])[0]);
    },
    async close() {
      await outside.end();
      await database.drop();
    },
  };
}

/**
 * `open` must use the library that the test uses: two copies of SQLite in one process do not see each other's locks, and
 * the one that closes first removes the log under the other.
 */
export async function sqliteBench(
  open: (file: string) => SqliteDatabase & { close(): unknown } = (file) => new DatabaseSync(file, { timeout: 5_000 }),
  options: SqliteTransactionsOptions = {},
): Promise<Bench> {
  const folder = mkdtempSync(join(tmpdir(), "ichido-effects-"));
  const file = join(folder, "shop.db");
  const outside = open(file);
  outside.exec("PRAGMA journal_mode = WAL");
  outside.exec(create);
  await sqliteStore(outside).migrate();
  return {
    dialect: "sqlite",
    url: file,
    side: () => openSide("sqlite", file, options),
    effects: async (name) =>
      namesOf(
        outside
          .prepare("SELECT name FROM effects WHERE ? IS NULL OR name = ? ORDER BY id")
          .all(name ?? null, name ?? null),
      ),
    records: async () => Number(namesOf(outside.prepare("SELECT count(*) AS name FROM ichido_records").all())[0]),
    async close() {
      outside.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
