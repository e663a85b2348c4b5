/** A handler inside a transaction that asks the same pool for another connection hangs nobody: not itself, not the rest. */
import { postgresStore } from "ichido/postgres";
import {
  drizzleTransactions,
  knexTransactions,
  kyselyTransactions,
  mysql2Transactions,
  pgTransactions,
  postgresTransactions,
  sequelizeTransactions,
  typeormTransactions,
} from "ichido/transactions";
import type { TransactionRunner } from "ichido/transactions";
import type { IchidoEvent } from "ichido";
import { sql as drizzleSql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { drizzle as drizzleMysql } from "drizzle-orm/mysql2";
import knex from "knex";
import { Kysely, PostgresDialect, sql as kyselySql } from "kysely";
import { createPool } from "mysql2/promise";
import { Pool } from "pg";
import postgres from "postgres";
import { Sequelize } from "sequelize";
import { DataSource } from "typeorm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWith } from "../support/services.ts";
import { caller } from "./callers.ts";
import { mariadbBench, postgresBench } from "./databases.ts";
import type { Bench } from "./databases.ts";

const mode = { mode: "transaction" } as const;
const ask = "select 1 as one";

interface Crowded {
  readonly runner: TransactionRunner<unknown>;
  /** A query of the program's own, on whatever connection is free. */
  readonly query: () => Promise<unknown>;
  readonly close: () => Promise<unknown>;
}

/** Each with three connections. */
const libraries: Readonly<Record<string, (url: string, max: number) => Promise<Crowded>>> = {
  async pg(url, max) {
    const pool = new Pool({ connectionString: url, max });
    return { runner: pgTransactions(pool), query: () => pool.query(ask), close: () => pool.end() };
  },
  async "postgres.js"(url, max) {
    const sql = postgres(url, { max });
    return { runner: postgresTransactions(sql), query: () => sql.unsafe(ask), close: () => sql.end({ timeout: 1 }) };
  },
  async drizzle(url, max) {
    const db = drizzle(new Pool({ connectionString: url, max }));
    return {
      runner: drizzleTransactions(db, drizzleSql, "postgres"),
      query: () => db.execute(ask),
      close: () => db.$client.end(),
    };
  },
  async knex(url, max) {
    const db = knex({ client: "pg", connection: url, pool: { min: 0, max } });
    return { runner: knexTransactions(db), query: async () => db.raw(ask), close: () => db.destroy() };
  },
  async typeorm(url, max) {
    const source = await new DataSource({ type: "postgres", url, extra: { max } }).initialize();
    return { runner: typeormTransactions(source), query: () => source.query(ask), close: () => source.destroy() };
  },
  async sequelize(url, max) {
    const db = new Sequelize(url, { dialect: "postgres", logging: false, pool: { max } });
    return { runner: sequelizeTransactions(db), query: () => db.query(ask), close: () => db.close() };
  },
};

describeWith("postgres", "a second connection of the same pool, PostgreSQL", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await postgresBench();
  });
  afterAll(() => bench?.close());

  async function shopOver(library: Crowded, events: IchidoEvent[], transactionMs: number) {
    const records = new Pool({ connectionString: bench.url, max: 2 });
    const store = postgresStore(records);
    const side = { store, runner: library.runner, connections: () => -1, close: () => records.end() };
    const shop = caller(side, { transactionMs, onEvent: (event) => void events.push(event) });
    const close = async (): Promise<void> => {
      await shop.ichido.close();
      await store.close();
      await records.end();
      await library.close();
    };
    return { shop, close };
  }

  test.each(Object.keys(libraries))("all of a crowd are served, in both modes: %s", async (name) => {
    const library = await libraries[name]!(bench.url, 3);
    const events: IchidoEvent[] = [];
    const { shop, close } = await shopOver(library, events, 20_000);
    for (const route of [mode, {}]) {
      const answers = await Promise.all(
        Array.from({ length: 9 }, (_, each) =>
          shop.ask(
            `${name}-${route === mode}-${each}`,
            async (context) => {
              await context.transaction(async () => {
                await library.query();
                return { status: 201 };
              });
              return { status: 201 };
            },
            route,
          ),
        ),
      );
      expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 9 }, () => 201));
    }
    expect(events.filter(({ type }) => type === "warning")).toEqual([]);
    await close();
  });

  /** Kysely does not show its pool, and of a single connection there is none to spare. */
  test.each([
    ["kysely", 2],
    ["pg", 1],
  ] as const)("where nobody can see to that, it is given up, and told with its remedy: %s", async (name, max) => {
    const pool = new Pool({ connectionString: bench.url, max });
    pool.on("error", () => {});
    const db = new Kysely<never>({ dialect: new PostgresDialect({ pool }) });
    const runner = name === "pg" ? pgTransactions(pool) : kyselyTransactions(db, "postgres");
    const events: IchidoEvent[] = [];
    const query = (): Promise<unknown> => kyselySql.raw(ask).execute(db);
    const { shop, close } = await shopOver({ runner, query, close: () => db.destroy() }, events, 500);
    // All connections are taken before anybody asks for another one.
    const all = Promise.withResolvers<void>();
    let inside = 0;
    const answers = await Promise.all(
      Array.from({ length: max }, (_, each) =>
        shop.ask(
          `${name}-${each}`,
          async () => {
            inside += 1;
            if (inside === max) all.resolve();
            await all.promise;
            await query();
            return { status: 201 };
          },
          mode,
        ),
      ),
    );
    // The connection of whoever was given up first may serve the others just before their own time is up.
    const statuses = answers.map(({ status }) => status);
    expect(statuses).toContain(503);
    expect([...new Set(statuses)].filter((status) => status !== 503 && status !== 201)).toEqual([]);
    expect(events).toContainEqual({
      type: "warning",
      code: "transaction-overdue",
      message: expect.stringMatching(/order\.create.*transactionMs \(500\).*pool of its own/) as string,
    });
    expect(await query()).toMatchObject({ rows: [{ one: 1 }] });
    const freed = await shop.ask(`${name}-0`, async () => ({ status: 201 }), mode);
    expect(freed.status).toBe(201);
    await close();
  });
});

describeWith("mariadb", "a second connection of the same pool, MariaDB", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await mariadbBench();
  });
  afterAll(() => bench?.close());

  test.each(["mysql2", "drizzle"])("bodies of ctx.transaction are all served: %s", async (name) => {
    const records = bench.side();
    const pool = createPool({ uri: bench.url, connectionLimit: 3 });
    const db = drizzleMysql(pool);
    const runner = name === "mysql2" ? mysql2Transactions(pool) : drizzleTransactions(db, drizzleSql, "mysql");
    const shop = caller({ ...records, runner });
    const answers = await Promise.all(
      Array.from({ length: 9 }, (_, each) =>
        shop.ask(`${name}-${each}`, async (context) => {
          await context.transaction(async () => {
            await pool.query(ask);
            return { status: 201 };
          });
          return { status: 201 };
        }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 9 }, () => 201));
    await shop.ichido.close();
    await pool.end();
    await records.close();
  });
});
