/** Every handle and every runner on its real database. */
import { createRequire } from "node:module";
import { DatabaseSync } from "node:sqlite";
import type { SqliteDatabase } from "ichido/sqlite";
import { createFaultProxy } from "ichido/testing";
import type { FaultProxy } from "ichido/testing";
import {
  betterSqlite3Transactions,
  CommitFailed,
  drizzleTransactions,
  fromBetterSqlite3,
  fromDrizzle,
  fromKnex,
  fromKysely,
  fromMariadb,
  fromMysql2,
  fromNodeSqlite,
  fromPg,
  fromPostgres,
  fromSequelize,
  fromTypeorm,
  knexTransactions,
  kyselyTransactions,
  mariadbTransactions,
  mysql2Transactions,
  nodeSqliteTransactions,
  pgTransactions,
  postgresTransactions,
  sequelizeTransactions,
  typeormTransactions,
} from "ichido/transactions";
import type { BetterSqlite3Database, TransactionHandle, TransactionRunner } from "ichido/transactions";
import { sql as drizzleSql } from "drizzle-orm";
import { drizzle as drizzleMysql } from "drizzle-orm/mysql2";
import { drizzle as drizzlePg } from "drizzle-orm/node-postgres";
import knex from "knex";
import type { SqliteDialectConfig } from "kysely";
import { CamelCasePlugin, Kysely, MysqlDialect, PostgresDialect, SqliteDialect } from "kysely";
import mariadb from "mariadb";
import { createPool as createCallbackPool } from "mysql2";
import { createPool } from "mysql2/promise";
import { Pool } from "pg";
import postgres from "postgres";
import { Sequelize } from "sequelize";
import { DataSource } from "typeorm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeWith } from "../support/services.ts";
import { addEffect, mariadbBench, postgresBench, sqliteBench } from "./databases.ts";
import type { Bench } from "./databases.ts";

// Written without types of its own.
const BetterSqlite3 = createRequire(import.meta.url)("better-sqlite3") as new (
  file: string,
) => BetterSqlite3Database & SqliteDatabase & SqliteDialectConfig["database"] & { close(): void };

interface Wrapped {
  readonly runner: TransactionRunner<unknown>;
  /** A handle on something that is not in a transaction. Absent where the type alone refuses it. */
  readonly outside?: () => Promise<TransactionHandle>;
  close(): Promise<unknown>;
}

type Wrap = (url: string) => Promise<Wrapped>;

const nothing = (): void => {};

const onPostgres: Record<string, Wrap> = {
  async pg(url) {
    const pool = new Pool({ connectionString: url, max: 2 });
    pool.on("error", nothing);
    return {
      runner: pgTransactions(pool),
      async outside() {
        const client = await pool.connect();
        client.release();
        return fromPg(client);
      },
      close: () => pool.end(),
    };
  },
  async postgres(url) {
    // Not prepared, so that COMMIT goes over the wire in words that the proxy can see.
    const sql = postgres(url, { max: 2, onnotice: nothing, prepare: false });
    return {
      runner: postgresTransactions(sql),
      outside: async () => fromPostgres(sql),
      close: () => sql.end({ timeout: 1 }),
    };
  },
  async kysely(url) {
    const pool = new Pool({ connectionString: url, max: 2 });
    pool.on("error", nothing);
    pool.on("connect", (client) => client.on("error", nothing));
    const db = new Kysely({ dialect: new PostgresDialect({ pool }), plugins: [new CamelCasePlugin()] });
    return {
      runner: kyselyTransactions(db, "postgres"),
      outside: async () => fromKysely(db, "postgres"),
      close: () => db.destroy(),
    };
  },
  async drizzle(url) {
    const pool = new Pool({ connectionString: url, max: 2 });
    pool.on("error", nothing);
    pool.on("connect", (client) => client.on("error", nothing));
    const db = drizzlePg(pool);
    return { runner: drizzleTransactions(db, drizzleSql, "postgres"), close: () => pool.end() };
  },
  async knex(url) {
    const db = knex({ client: "pg", connection: url, pool: { min: 0, max: 2 } });
    return { runner: knexTransactions(db), outside: async () => fromKnex(db), close: () => db.destroy() };
  },
  async typeorm(url) {
    const source = await new DataSource({
      type: "postgres",
      url,
      extra: { max: 2 },
      poolErrorHandler: nothing,
    }).initialize();
    return {
      runner: typeormTransactions(source),
      outside: async () => fromTypeorm(source.manager),
      close: () => source.destroy(),
    };
  },
  async sequelize(url) {
    const db = new Sequelize(url, { dialect: "postgres", logging: false, pool: { max: 2 } });
    return {
      runner: sequelizeTransactions(db),
      async outside() {
        const finished = await db.transaction();
        await finished.rollback();
        return fromSequelize(db, finished);
      },
      close: () => db.close(),
    };
  },
};

const onMariadb: Record<string, Wrap> = {
  async mysql2(url) {
    const pool = createPool({ uri: url, connectionLimit: 2 });
    return {
      runner: mysql2Transactions(pool),
      async outside() {
        const connection = await pool.getConnection();
        connection.release();
        return fromMysql2(connection);
      },
      close: () => pool.end(),
    };
  },
  async mariadb(url) {
    const pool = mariadb.createPool(`${url.replace(/^mysql:/, "mariadb:")}?connectionLimit=2`);
    return {
      runner: mariadbTransactions(pool),
      async outside() {
        const connection = await pool.getConnection();
        await connection.release();
        return fromMariadb(await pool.getConnection());
      },
      close: () => pool.end(),
    };
  },
  async kysely(url) {
    const pool = createCallbackPool({ uri: url, connectionLimit: 2 });
    const db = new Kysely({ dialect: new MysqlDialect({ pool }) });
    return {
      runner: kyselyTransactions(db, "mysql"),
      outside: async () => fromKysely(db, "mysql"),
      close: () => db.destroy(),
    };
  },
  async drizzle(url) {
    const pool = createPool({ uri: url, connectionLimit: 2 });
    return { runner: drizzleTransactions(drizzleMysql(pool), drizzleSql, "mysql"), close: () => pool.end() };
  },
  async knex(url) {
    const db = knex({ client: "mysql2", connection: url, pool: { min: 0, max: 2 } });
    return { runner: knexTransactions(db), outside: async () => fromKnex(db), close: () => db.destroy() };
  },
  async typeorm(url) {
    const source = await new DataSource({ type: "mariadb", url, extra: { connectionLimit: 2 } }).initialize();
    return {
      runner: typeormTransactions(source),
      outside: async () => fromTypeorm(source.manager),
      close: () => source.destroy(),
    };
  },
  async sequelize(url) {
    const db = new Sequelize(url, { dialect: "mysql", logging: false, pool: { max: 2 } });
    return { runner: sequelizeTransactions(db), close: () => db.close() };
  },
};

const onNodeSqlite: Record<string, Wrap> = {
  async "node:sqlite"(file) {
    const database = new DatabaseSync(file);
    return {
      runner: nodeSqliteTransactions(database),
      outside: async () => fromNodeSqlite(database),
      close: async () => database.close(),
    };
  },
};

const onBetterSqlite3: Record<string, Wrap> = {
  async "better-sqlite3"(file) {
    const database = new BetterSqlite3(file);
    return {
      runner: betterSqlite3Transactions(database),
      outside: async () => fromBetterSqlite3(database),
      close: async () => database.close(),
    };
  },
  async kysely(file) {
    const database = new BetterSqlite3(file);
    const db = new Kysely({ dialect: new SqliteDialect({ database }) });
    return {
      runner: kyselyTransactions(db, "sqlite"),
      outside: async () => fromKysely(db, "sqlite"),
      close: () => db.destroy(),
    };
  },
  async knex(file) {
    const db = knex({ client: "better-sqlite3", connection: { filename: file }, useNullAsDefault: true });
    return { runner: knexTransactions(db), outside: async () => fromKnex(db), close: () => db.destroy() };
  },
  async typeorm(file) {
    const source = await new DataSource({ type: "better-sqlite3", database: file }).initialize();
    return {
      runner: typeormTransactions(source),
      outside: async () => fromTypeorm(source.manager),
      close: () => source.destroy(),
    };
  },
};

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
      await expect(add(handle, "outside")).rejects.toMatchObject({ code: "option-invalid" });
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
        const patterns = ["COMMIT", "commit"];
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
  expect(() => fromDrizzle({ execute: async () => [] } as never, drizzleSql, "postgres")).toThrow(TypeError);
});

describeWith("postgres", "handles on PostgreSQL", () => suite(postgresBench, onPostgres, true));
describeWith("mariadb", "handles on MariaDB", () => suite(mariadbBench, onMariadb, true));
describe("handles on SQLite", () => suite(() => sqliteBench(), onNodeSqlite, false));
describe("handles on SQLite through better-sqlite3", () =>
  suite(() => sqliteBench((file) => new BetterSqlite3(file)), onBetterSqlite3, false));
