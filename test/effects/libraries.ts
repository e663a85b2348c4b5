/** Every library that a handle wraps, on a database's address: a runner, and a handle outside of any transaction. */
import { createRequire } from "node:module";
import { DatabaseSync } from "node:sqlite";
import type { SqliteDatabase } from "ichido/sqlite";
import {
  betterSqlite3Transactions,
  drizzleTransactions,
  fromBetterSqlite3,
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
import { drizzle as drizzlePostgresJs } from "drizzle-orm/postgres-js";
import knex from "knex";
import type { SqliteDialectConfig } from "kysely";
import { CamelCasePlugin, Kysely, MysqlDialect, PostgresDialect, sql as kyselySql, SqliteDialect } from "kysely";
import mariadb from "mariadb";
import { createPool as createCallbackPool } from "mysql2";
import { createPool } from "mysql2/promise";
import { Pool } from "pg";
import postgres from "postgres";
import { Sequelize } from "sequelize";
import type { Transaction } from "sequelize";
import { DataSource } from "typeorm";

// Written without types of its own.
export const BetterSqlite3 = createRequire(import.meta.url)("better-sqlite3") as new (
  file: string,
) => BetterSqlite3Database & SqliteDatabase & SqliteDialectConfig["database"] & { close(): void };

export interface Wrapped {
  readonly runner: TransactionRunner<unknown>;
  /** A handle on something that is not in a transaction. Absent where the type alone refuses it. */
  readonly outside?: () => Promise<TransactionHandle>;
  /** A statement of the user's own, in what the library calls a transaction or, without one, by itself. On MariaDB. */
  readonly say?: (tx: unknown, text: string) => Promise<unknown>;
  close(): Promise<unknown>;
}

export type Wrap = (url: string) => Promise<Wrapped>;

const nothing = (): void => {};

export const onPostgres: Record<string, Wrap> = {
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
  async "drizzle on postgres.js"(url) {
    const sql = postgres(url, { max: 2, onnotice: nothing, prepare: false });
    const db = drizzlePostgresJs(sql);
    return { runner: drizzleTransactions(db, drizzleSql, "postgres"), close: () => sql.end({ timeout: 1 }) };
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

export const onMariadb: Record<string, Wrap> = {
  async mysql2(url) {
    const pool = createPool({ uri: url, connectionLimit: 2 });
    return {
      runner: mysql2Transactions(pool),
      say: (tx, text) => ((tx ?? pool) as { query(sql: string): Promise<unknown> }).query(text),
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
      say: (tx, text) => ((tx ?? pool) as { query(sql: string): Promise<unknown> }).query(text),
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
      say: (tx, text) => kyselySql.raw(text).execute((tx ?? db) as Kysely<unknown>),
      outside: async () => fromKysely(db, "mysql"),
      close: () => db.destroy(),
    };
  },
  async drizzle(url) {
    const pool = createPool({ uri: url, connectionLimit: 2 });
    const db = drizzleMysql(pool);
    return {
      runner: drizzleTransactions(db, drizzleSql, "mysql"),
      say: (tx, text) => ((tx ?? db) as typeof db).execute(drizzleSql.raw(text)),
      close: () => pool.end(),
    };
  },
  async knex(url) {
    const db = knex({ client: "mysql2", connection: url, pool: { min: 0, max: 2 } });
    return {
      runner: knexTransactions(db),
      say: async (tx, text) => ((tx ?? db) as typeof db).raw(text),
      outside: async () => fromKnex(db),
      close: () => db.destroy(),
    };
  },
  async typeorm(url) {
    const source = await new DataSource({ type: "mariadb", url, extra: { connectionLimit: 2 } }).initialize();
    return {
      runner: typeormTransactions(source),
      say: (tx, text) => ((tx ?? source.manager) as typeof source.manager).query(text),
      outside: async () => fromTypeorm(source.manager),
      close: () => source.destroy(),
    };
  },
  async sequelize(url) {
    const db = new Sequelize(url, { dialect: "mysql", logging: false, pool: { max: 2 } });
    return {
      runner: sequelizeTransactions(db),
      say: (tx, text) => db.query(text, tx === undefined ? {} : { transaction: tx as Transaction }),
      close: () => db.close(),
    };
  },
};

export const onNodeSqlite: Record<string, Wrap> = {
  async "node:sqlite"(file) {
    const database = new DatabaseSync(file);
    return {
      runner: nodeSqliteTransactions(database),
      outside: async () => fromNodeSqlite(database),
      close: async () => database.close(),
    };
  },
};

export const onBetterSqlite3: Record<string, Wrap> = {
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
