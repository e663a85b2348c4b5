/** The inbox through every driver and query builder that opens transactions: each answers in types of its own. */
import { createRequire } from "node:module";
import { setTimeout as delay } from "node:timers/promises";
import { createConsumer } from "ichido/inbox";
import {
  betterSqlite3Transactions,
  drizzleTransactions,
  knexTransactions,
  kyselyTransactions,
  mariadbTransactions,
  postgresTransactions,
  sequelizeTransactions,
  typeormTransactions,
} from "ichido/transactions";
import type { BetterSqlite3Database, TransactionRunner } from "ichido/transactions";
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
import { expect, onTestFinished, test } from "vitest";
import { addEffect } from "../effects/sides.ts";
import { testBroker } from "./inbox-broker.ts";
import { forEachDatabase } from "./inbox-databases.ts";
import { inboxOn, message } from "./inbox-messages.ts";

// Written without types of its own.
const BetterSqlite3 = createRequire(import.meta.url)("better-sqlite3") as new (
  file: string,
) => BetterSqlite3Database & SqliteDialectConfig["database"] & { close(): void };

interface Opened {
  readonly runner: TransactionRunner<unknown>;
  close(): Promise<unknown>;
}

type Drivers = Readonly<Record<string, (url: string) => Opened | Promise<Opened>>>;

async function typeorm(options: ConstructorParameters<typeof DataSource>[0]): Promise<Opened> {
  const source = await new DataSource(options).initialize();
  return { runner: typeormTransactions(source), close: () => source.destroy() };
}

const postgresDrivers: Drivers = {
  postgres(url) {
    const sql = postgres(url, { max: 4, onnotice: () => {} });
    return { runner: postgresTransactions(sql), close: () => sql.end({ timeout: 1 }) };
  },
  kysely(url) {
    const dialect = new PostgresDialect({ pool: new Pool({ connectionString: url, max: 4 }) });
    const db = new Kysely({ dialect, plugins: [new CamelCasePlugin()] });
    return { runner: kyselyTransactions(db, "postgres"), close: () => db.destroy() };
  },
  drizzle(url) {
    const pool = new Pool({ connectionString: url, max: 4 });
    pool.on("error", () => {});
    return { runner: drizzleTransactions(drizzlePg(pool), drizzleSql, "postgres"), close: () => pool.end() };
  },
  knex(url) {
    const db = knex({ client: "pg", connection: url, pool: { min: 0, max: 4 } });
    return { runner: knexTransactions(db), close: () => db.destroy() };
  },
  typeorm: (url) => typeorm({ type: "postgres", url, extra: { max: 4 } }),
  sequelize(url) {
    const db = new Sequelize(url, { dialect: "postgres", logging: false, pool: { max: 4 } });
    return { runner: sequelizeTransactions(db), close: () => db.close() };
  },
};

const mariadbDrivers: Drivers = {
  mariadb(url) {
    const pool = mariadb.createPool(`${url.replace(/^mysql:/, "mariadb:")}?connectionLimit=4`);
    return { runner: mariadbTransactions(pool), close: () => pool.end() };
  },
  kysely(url) {
    const db = new Kysely({
      dialect: new MysqlDialect({ pool: createCallbackPool({ uri: url, connectionLimit: 4 }) }),
    });
    return { runner: kyselyTransactions(db, "mysql"), close: () => db.destroy() };
  },
  drizzle(url) {
    const pool = createPool({ uri: url, connectionLimit: 4 });
    return { runner: drizzleTransactions(drizzleMysql(pool), drizzleSql, "mysql"), close: () => pool.end() };
  },
  knex(url) {
    const db = knex({ client: "mysql2", connection: url, pool: { min: 0, max: 4 } });
    return { runner: knexTransactions(db), close: () => db.destroy() };
  },
  typeorm: (url) => typeorm({ type: "mariadb", url, extra: { connectionLimit: 4 } }),
  sequelize(url) {
    const db = new Sequelize(url, { dialect: "mysql", logging: false, pool: { max: 4 } });
    return { runner: sequelizeTransactions(db), close: () => db.close() };
  },
};

const sqliteDrivers: Drivers = {
  "better-sqlite3"(file) {
    const database = new BetterSqlite3(file);
    return { runner: betterSqlite3Transactions(database), close: async () => database.close() };
  },
  kysely(file) {
    const db = new Kysely({ dialect: new SqliteDialect({ database: new BetterSqlite3(file) }) });
    return { runner: kyselyTransactions(db, "sqlite"), close: () => db.destroy() };
  },
  knex(file) {
    const db = knex({ client: "better-sqlite3", connection: { filename: file }, useNullAsDefault: true });
    return { runner: knexTransactions(db), close: () => db.destroy() };
  },
  typeorm: (file) => typeorm({ type: "better-sqlite3", database: file }),
};

const drivers = { postgres: postgresDrivers, mysql: mariadbDrivers, sqlite: sqliteDrivers };

forEachDatabase("drivers", (open, dialect) => {
  test.each(Object.entries(drivers[dialect]))(
    "%s: once, duplicate, conflict, failure, dead letter, replay, sweep",
    async (name, driver) => {
      // Two copies of SQLite in one process do not see each other's locks: a file of its own.
      const opened = await driver(dialect === "sqlite" ? `${open().url}.${name.replaceAll(/\W/g, "")}` : open().url);
      const { runner } = opened;
      onTestFinished(() => void opened.close());
      const tablePrefix = `${name.replaceAll(/\W/g, "").toLowerCase()}_`;
      const inbox = inboxOn(runner, { tablePrefix, retentionMs: 86_400_001 });
      expect(await inbox.migrate()).not.toEqual([]);
      expect(await inbox.migrate()).toEqual([]);
      if (dialect === "sqlite") {
        const sql = "CREATE TABLE effects (id integer PRIMARY KEY, name text NOT NULL, once text UNIQUE)";
        await runner.run((_tx, handle) => handle.execute(sql, []));
      }
      const count = (id: string): Promise<number> =>
        runner.run(async (_tx, handle) => {
          const place = dialect === "postgres" ? "$1" : "?";
          const { rows } = await handle.execute(`SELECT count(*) AS n FROM effects WHERE name = ${place}`, [id]);
          return Number(rows[0]?.["n"]);
        });

      const one = message();
      const writes = (): Promise<{ readonly outcome: string }> =>
        inbox.runOnce(one, "stock", (_tx, { handle }) => addEffect(handle, one.id));
      await expect(
        inbox.runOnce(one, "stock", async (_tx, { handle }) => {
          await addEffect(handle, one.id);
          throw new Error("no");
        }),
      ).rejects.toThrow("no");
      const outcomes =
        dialect === "sqlite" ? [await writes(), await writes()] : await Promise.all([writes(), writes(), writes()]);
      expect(outcomes.filter(({ outcome }) => outcome === "processed")).toHaveLength(1);
      expect(await writes()).toEqual({ outcome: "duplicate" });
      expect(await inbox.runOnce(message({ id: one.id, payload: 8 }), "stock", () => {})).toEqual({
        outcome: "conflict",
      });
      expect(await count(one.id)).toBe(1);

      if (dialect === "postgres") {
        const caught = inbox.runOnce(message(), "caught", async (_tx, { handle }) => {
          await handle.execute("select 1 / 0", []).catch(() => undefined);
        });
        await expect(caught).rejects.toThrow(/savepoint/);
      }

      const broker = testBroker();
      let broken = true;
      const consumer = createConsumer({
        subscription: broker.subscription,
        inbox,
        attemptsMax: 2,
        backoffMs: 1,
        replayMs: 600_000,
        handlers: [
          {
            name: "mended",
            topics: ["*"],
            once: async (_tx, { handle, message: { id } }) => {
              if (broken) throw new Error("broken");
              await addEffect(handle, id);
            },
          },
        ],
      });
      await consumer.start();
      const poison = message({ headers: { "x-shop": "東京" } });
      await broker.deliver(poison, 2);
      expect(await inbox.dead.get({ handler: "mended", id: poison.id })).toMatchObject({
        message: poison,
        attempts: 2,
        reason: "failed",
      });
      broken = false;
      const decision = { handler: "mended", id: poison.id, actor: "ann", reason: "東京" };
      expect(await inbox.dead.replay(decision)).toBe("ok");
      await consumer.replay();
      await consumer.stop();
      expect(await inbox.dead.audit(decision)).toMatchObject([{ action: "replay", actor: "ann", reason: "東京" }]);
      expect(await count(poison.id)).toBe(1);
      expect(await inbox.stats()).toMatchObject({ processed: 2, dead: 0, replaying: 0 });
      const forgetful = inboxOn(runner, { tablePrefix, retentionMs: 1 });
      await delay(20);
      expect(await forgetful.sweep()).toEqual({ deleted: 2, more: false });
    },
  );
});
