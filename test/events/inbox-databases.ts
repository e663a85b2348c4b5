/** One fresh database of each kind with a business table, for suites that run on all three. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { TransactionHandle } from "ichido";
import { nodeSqliteTransactions } from "ichido/transactions";
import { createPool } from "mysql2/promise";
import { Pool } from "pg";
import { afterAll, beforeAll, describe } from "vitest";
import { openSide, type Side } from "../effects/sides.ts";
import { describeWith, freshDatabase } from "../support/services.ts";

export interface Database {
  readonly dialect: TransactionHandle["dialect"];
  readonly url: string;
  /** A process of its own, as far as the database can tell. Closed in the end. */
  side(url?: string): Side;
  /** Transactions that wait for a busy file no longer than this; servers are told by the inbox itself. */
  impatient(lockTimeoutMs: number): Side["runner"];
  /** Several statements at once, as a tool for migrations would run them. */
  script(sql: string): Promise<void>;
  query(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  effects(): Promise<readonly string[]>;
  close(): Promise<void>;
}

const effects = {
  postgres: "CREATE TABLE effects (id bigint GENERATED ALWAYS AS IDENTITY, name text NOT NULL, once text UNIQUE)",
  mysql:
    "CREATE TABLE effects (id bigint PRIMARY KEY AUTO_INCREMENT, name varchar(200) NOT NULL, once varchar(200) UNIQUE)",
  sqlite: "CREATE TABLE effects (id integer PRIMARY KEY, name text NOT NULL, once text UNIQUE)",
};

type Rows = readonly Readonly<Record<string, unknown>>[];

async function databaseOf(dialect: Database["dialect"], server: string): Promise<Database> {
  const sides: Side[] = [];
  const side =
    (url: string) =>
    (through = url): Side => {
      const made = openSide(dialect, through);
      sides.push(made);
      return made;
    };
  const closeSides = async (): Promise<void> => {
    for (const made of sides) await made.close();
  };
  const build = async (
    url: string,
    query: (sql: string) => Promise<Rows>,
    script: (sql: string) => Promise<void>,
    close: () => Promise<void>,
  ): Promise<Database> => {
    await script(effects[dialect]);
    return {
      dialect,
      url,
      side: side(url),
      impatient(lockTimeoutMs) {
        if (dialect !== "sqlite") return side(url)().runner;
        const database = new DatabaseSync(url);
        sides.push({ close: async () => database.close() } as Side);
        return nodeSqliteTransactions(database, { lockTimeoutMs });
      },
      query,
      script,
      effects: async () => (await query("SELECT name FROM effects ORDER BY id")).map((row) => String(row["name"])),
      async close() {
        await closeSides();
        await close();
      },
    };
  };
  if (dialect === "sqlite") {
    const folder = mkdtempSync(join(tmpdir(), "ichido-inbox-"));
    const file = join(folder, "shop.db");
    const outside = new DatabaseSync(file, { timeout: 5_000 });
    outside.exec("PRAGMA journal_mode = WAL");
    return build(
      file,
      async (sql) => outside.prepare(sql).all() as Rows,
      async (sql) => outside.exec(sql),
      async () => {
        outside.close();
        rmSync(folder, { recursive: true, force: true });
      },
    );
  }
  const database = await freshDatabase(server);
  if (dialect === "postgres") {
    const pool = new Pool({ connectionString: database.url, max: 2 });
    pool.on("error", () => {});
    return build(
      database.url,
      async (sql) => (await pool.query(sql)).rows as Rows,
      async (sql) => void (await pool.query(sql)),
      async () => {
        await pool.end();
        await database.drop();
      },
    );
  }
  const pool = createPool({ uri: database.url, connectionLimit: 2, multipleStatements: true });
  return build(
    database.url,
    async (sql) => (await pool.query(sql))[0] as Rows,
    async (sql) => void (await pool.query(sql)),
    async () => {
      await pool.end();
      await database.drop();
    },
  );
}

/** `suite` gets a function, since the database is there only once its tests run. */
export function forEachDatabase(
  title: string,
  suite: (open: () => Database, dialect: Database["dialect"]) => void,
): void {
  const within = (dialect: Database["dialect"], server: string): void => {
    let database: Database | undefined;
    beforeAll(async () => {
      database = await databaseOf(dialect, server);
    });
    afterAll(() => database?.close());
    suite(() => {
      if (database === undefined) throw new Error("the database is opened before the tests");
      return database;
    }, dialect);
  };
  describeWith("postgres", `${title} on PostgreSQL`, (url) => within("postgres", url));
  describeWith("mariadb", `${title} on MariaDB`, (url) => within("mysql", url));
  describe(`${title} on SQLite`, () => within("sqlite", ""));
}
