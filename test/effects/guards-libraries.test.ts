/** The three guards through every library, and through the options of libraries that change what a row looks like. */
import { DatabaseSync } from "node:sqlite";
import { createOnce, defineTransitions, updateVersioned } from "ichido/guards";
import type { CreateRequest } from "ichido/guards";
import {
  knexTransactions,
  kyselyTransactions,
  mariadbTransactions,
  mysql2Transactions,
  nodeSqliteTransactions,
  postgresTransactions,
  sequelizeTransactions,
} from "ichido/transactions";
import type { TransactionHandle } from "ichido/transactions";
import knex from "knex";
import { Kysely, MysqlDialect } from "kysely";
import mariadb from "mariadb";
import type { PoolConfig } from "mariadb";
import { createPool as createCallbackPool } from "mysql2";
import { createPool } from "mysql2/promise";
import type { PoolOptions } from "mysql2/promise";
import postgres from "postgres";
import { QueryTypes, Sequelize } from "sequelize";
import type { QueryOptions } from "sequelize";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeWith } from "../support/services.ts";
import { mariadbBench, postgresBench, sqliteBench } from "./databases.ts";
import type { Bench } from "./databases.ts";
import { BetterSqlite3, onBetterSqlite3, onMariadb, onNodeSqlite, onPostgres } from "./libraries.ts";
import type { Wrap, Wrapped } from "./libraries.ts";

const camel = (name: string): string => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** As people write it for Knex's `postProcessResponse`. */
function camelRows(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(camelRows);
  if (value === null || typeof value !== "object" || value instanceof Uint8Array || value instanceof Date) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [camel(name), camelRows(each)]));
}

function postgresJs(transform: NonNullable<Parameters<typeof postgres>[1]>["transform"]): Wrap {
  return async (url) => {
    const sql = postgres(url, { max: 2, onnotice: () => {}, ...(transform === undefined ? {} : { transform }) });
    return { runner: postgresTransactions(sql), close: () => sql.end({ timeout: 1 }) };
  };
}

function knexCamel(client: string): Wrap {
  return async (url) => {
    const connection = client === "better-sqlite3" ? { filename: url } : url;
    const db = knex({ client, connection, useNullAsDefault: true, postProcessResponse: camelRows, pool: { max: 2 } });
    return { runner: knexTransactions(db), close: () => db.destroy() };
  };
}

function sequelizeWith(dialect: "postgres" | "mysql", query: QueryOptions): Wrap {
  return async (url) => {
    const db = new Sequelize(url, { dialect, query, logging: false, pool: { max: 2 } });
    return { runner: sequelizeTransactions(db), close: () => db.close() };
  };
}

function mysql2With(options: PoolOptions): Wrap {
  return async (uri) => {
    const pool = createPool({ uri, connectionLimit: 2, ...options });
    return { runner: mysql2Transactions(pool), close: () => pool.end() };
  };
}

function mariadbWith(options: Partial<PoolConfig>): Wrap {
  return async (url) => {
    const { hostname, port, username, password, pathname } = new URL(url);
    const address = { host: hostname, port: Number(port), user: username, password: decodeURIComponent(password) };
    const pool = mariadb.createPool({ ...address, database: pathname.slice(1), connectionLimit: 2, ...options });
    return { runner: mariadbTransactions(pool), close: () => pool.end() };
  };
}

const shapes = {
  postgres: {
    "postgres.js with camel": postgresJs(postgres.camel),
    "postgres.js with pascal": postgresJs(postgres.pascal),
    "postgres.js with nulls as undefined": postgresJs({ value: { from: (value: unknown) => value ?? undefined } }),
    "knex with postProcessResponse": knexCamel("pg"),
    "sequelize with nest": sequelizeWith("postgres", { nest: true }),
    "sequelize with plain": sequelizeWith("postgres", { plain: true }),
    "sequelize with SELECT": sequelizeWith("postgres", { type: QueryTypes.SELECT }),
  },
  mysql: {
    "mysql2 with rowsAsArray": mysql2With({ rowsAsArray: true }),
    "mysql2 with nestTables": mysql2With({ nestTables: true }),
    "mysql2 with typeCast": mysql2With({ typeCast: () => "cast" }),
    "mysql2 with namedPlaceholders": mysql2With({ namedPlaceholders: true }),
    "mysql2 without FOUND_ROWS": mysql2With({ flags: ["-FOUND_ROWS"] }),
    "mariadb with rowsAsArray": mariadbWith({ rowsAsArray: true }),
    "mariadb with nestTables": mariadbWith({ nestTables: true }),
    "mariadb with metaAsArray": mariadbWith({ metaAsArray: true }),
    "mariadb with typeCast": mariadbWith({ typeCast: () => "cast" }),
    "mariadb with namedPlaceholders": mariadbWith({ namedPlaceholders: true }),
    "knex with postProcessResponse": knexCamel("mysql2"),
    "sequelize with nest": sequelizeWith("mysql", { nest: true }),
    "sequelize with SELECT": sequelizeWith("mysql", { type: QueryTypes.SELECT }),
  },
  nodeSqlite: {
    async "node:sqlite with returnArrays"(file) {
      const database = new DatabaseSync(file, { returnArrays: true });
      return { runner: nodeSqliteTransactions(database), close: async () => database.close() };
    },
    async "node:sqlite with readBigInts"(file) {
      const database = new DatabaseSync(file, { readBigInts: true });
      return { runner: nodeSqliteTransactions(database), close: async () => database.close() };
    },
  },
  betterSqlite3: { "knex with postProcessResponse": knexCamel("better-sqlite3") },
} satisfies Record<string, Record<string, Wrap>>;

/** Libraries that can be told of a row's shape only when the pool is made. */
const unreadable: Record<string, Wrap> = {
  async "kysely on mysql2 with rowsAsArray"(uri) {
    const pool = createCallbackPool({ uri, connectionLimit: 2, rowsAsArray: true });
    const db = new Kysely({ dialect: new MysqlDialect({ pool }) });
    return { runner: kyselyTransactions(db, "mysql"), close: () => db.destroy() };
  },
};

const job = defineTransitions({ open: ["done"], done: ["shut"] });
const at = new Date("2024-05-05T10:11:12.000Z");

const columns = (bytes: string, time: string, flag: string): string =>
  `(done_at ${time}, is_late ${flag}, seen ${bytes}, note varchar(80), state varchar(20), version integer, id varchar(60) PRIMARY KEY)`;
const types = {
  postgres: columns("bytea", "timestamptz", "boolean"),
  mysql: columns("varbinary(40)", "datetime(3)", "boolean"),
  sqlite: columns("blob", "text", "integer"),
};

function suite(make: () => Promise<Bench>, wraps: Readonly<Record<string, Wrap>>, refused: typeof wraps = {}): void {
  let bench: Bench;
  beforeAll(async () => {
    bench = await make();
    const side = bench.side();
    await side.runner.run((_tx, handle) => handle.execute(`CREATE TABLE jobs ${types[handle.dialect]}`, []), {
      unwatched: true,
    });
    await side.close();
  });
  afterAll(() => bench?.close());

  const within = async (wrap: Wrap, fn: (wrapped: Wrapped) => Promise<void>): Promise<void> => {
    const wrapped = await wrap(bench.url);
    try {
      await fn(wrapped);
    } finally {
      await wrapped.close();
    }
  };
  const requestOf = (id: string, content = {}): CreateRequest => ({
    table: "jobs",
    key: { id },
    content: { done_at: at, is_late: true, seen: new Uint8Array([0, 39, 92, 255]), note: `it's \\ ${id}`, ...content },
    other: { state: "open", version: 1 },
  });

  test.each(Object.entries(wraps))("guards: %s creates once, moves once and knows versions", (name, wrap) =>
    within(wrap, async ({ runner }) => {
      const run = <Value>(fn: (handle: TransactionHandle) => Promise<Value>): Promise<Value> =>
        runner.run((_tx, handle) => fn(handle));
      const key = { id: name };
      const create = (content = {}) => run((handle) => createOnce(handle, requestOf(name, content)));
      expect(await create()).toEqual({ outcome: "created" });
      expect(await create()).toEqual({ outcome: "same" });
      expect(await create({ is_late: false })).toEqual({ outcome: "conflict" });
      expect(await create({ done_at: new Date(at.getTime() + 1) })).toEqual({ outcome: "conflict" });
      expect(await create({ done_at: null })).toEqual({ outcome: "conflict" });
      const move = (to: "done" | "shut" | "open") => run((handle) => job.move(handle, { table: "jobs", key, to }));
      expect(await move("shut")).toEqual({ outcome: "illegal", state: "open" });
      expect(await move("done")).toEqual({ outcome: "applied" });
      expect(await move("done")).toEqual({ outcome: "already" });
      const update = (version: number) =>
        run((handle) =>
          updateVersioned(handle, { table: "jobs", key, version, set: { done_at: new Date(0), note: null } }),
        );
      expect(await update(7)).toEqual({ outcome: "stale", version: 1 });
      expect(await update(1)).toEqual({ outcome: "applied", version: 2 });
      expect(await create({ done_at: new Date(0), note: null })).toEqual({ outcome: "same" });
    }),
  );

  test.runIf(Object.keys(refused).length > 0).each(Object.entries(refused))(
    "guards: %s is refused, never misread",
    (name, wrap) =>
      within(wrap, async ({ runner }) => {
        const create = () => runner.run((_tx, handle) => createOnce(handle, requestOf(name)));
        await expect(create().then(create)).rejects.toThrow(/column \w+ is not in the row/);
      }),
  );
}

describeWith("postgres", "guards through libraries on PostgreSQL", () =>
  suite(postgresBench, { ...onPostgres, ...shapes.postgres }),
);
describeWith("mariadb", "guards through libraries on MariaDB", () =>
  suite(mariadbBench, { ...onMariadb, ...shapes.mysql }, unreadable),
);
describe("guards through libraries on SQLite", () =>
  suite(() => sqliteBench(), { ...onNodeSqlite, ...shapes.nodeSqlite }));
describe("guards through libraries on SQLite by better-sqlite3", () =>
  suite(() => sqliteBench((file) => new BetterSqlite3(file)), { ...onBetterSqlite3, ...shapes.betterSqlite3 }));
