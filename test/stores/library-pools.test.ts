/** Stores over the pool of a library that the program has already: nothing is opened beside it. */
import { mysqlStore } from "ichido/mysql";
import type { MysqlClient } from "ichido/mysql";
import { postgresStore } from "ichido/postgres";
import type { PostgresClient } from "ichido/postgres";
import { knexTransactions, sequelizeTransactions, typeormTransactions } from "ichido/transactions";
import type { TransactionRunner } from "ichido/transactions";
import knex from "knex";
import { Sequelize } from "sequelize";
import { DataSource } from "typeorm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { caller } from "../effects/callers.ts";
import { addEffect, mariadbBench, postgresBench } from "../effects/databases.ts";
import type { Bench } from "../effects/databases.ts";
import { mariadbUrl, postgresUrl } from "../support/services.ts";
import { request } from "./postgres-life.ts";

interface Opened {
  readonly client: PostgresClient & MysqlClient;
  readonly runner: TransactionRunner<unknown>;
  readonly close: () => Promise<unknown>;
}

const max = 3;

const libraries: Readonly<Record<string, (url: string) => Promise<Opened>>> = {
  async typeorm(url: string) {
    const type = url.startsWith("postgres") ? "postgres" : "mariadb";
    const extra = { max, connectionLimit: max };
    const source = await new DataSource({ type, url, extra } as never).initialize();
    return {
      client: source satisfies PostgresClient satisfies MysqlClient,
      runner: typeormTransactions(source),
      close: () => source.destroy(),
    };
  },
  async knex(url: string) {
    const client = url.startsWith("postgres") ? "pg" : "mysql2";
    const db = knex({ client, connection: url, pool: { min: 0, max } });
    return {
      client: db satisfies PostgresClient satisfies MysqlClient,
      runner: knexTransactions(db),
      close: () => db.destroy(),
    };
  },
  async sequelize(url: string) {
    const dialect = url.startsWith("postgres") ? "postgres" : "mysql";
    const db = new Sequelize(url, { dialect, logging: false, pool: { max } });
    return {
      client: db satisfies PostgresClient satisfies MysqlClient,
      runner: sequelizeTransactions(db),
      close: () => db.close(),
    };
  },
};

const databases = [
  {
    name: "PostgreSQL",
    make: postgresBench,
    store: postgresStore,
    modes: ["lease", "transaction"],
    owning: ["typeorm", "knex"],
  },
  { name: "MariaDB", make: mariadbBench, store: mysqlStore, modes: ["lease"], owning: ["typeorm"] },
] as const;

describe.each(databases)("a store over a library's own pool, $name", ({ make, store: storeOver, modes, owning }) => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await make();
  });
  afterAll(() => bench?.close());

  test.each(Object.keys(libraries))("S18 a crowd runs each key once, and every key is replayed: %s", async (name) => {
    const { client, runner, close } = await libraries[name]!(bench.url);
    const store = storeOver(client);
    expect(await store.migrate()).toEqual([]);
    await store.ping();
    const shop = caller({ store, runner, connections: () => -1, close: async () => undefined });
    for (const mode of modes) {
      const keys = Array.from({ length: 12 }, (_, each) => `${name}-${mode}-${each % 6}`);
      const ask = (key: string) =>
        shop.ask(
          key,
          async (context) => {
            await context.transaction(async (_tx, handle) => {
              await addEffect(handle, key);
              return { status: 201, body: { key } };
            });
            return { status: 201 };
          },
          { mode, inFlight: { waitMs: 10_000 } },
        );
      const answers = await Promise.all(keys.map(ask));
      expect(answers.map(({ status }) => status)).toEqual(keys.map(() => 201));
      for (const key of new Set(keys)) {
        expect(await bench.effects(key)).toHaveLength(1);
        expect(await ask(key)).toMatchObject({ status: 201, replayed: true });
      }
    }
    await store.stats();
    await shop.ichido.close();
    await store.close();
    await close();
  });

  test.each(owning)("S5 a renewal does not wait for a pool that the program holds: %s", async (name) => {
    const { client, runner, close } = await libraries[name]!(bench.url);
    const store = storeOver(client);
    const asked = request(`renewed-${name}`, "a");
    const claim = await store.claim(asked);
    if (claim.outcome !== "granted") throw new Error(claim.outcome);
    const gate = Promise.withResolvers<void>();
    const held = Array.from({ length: max }, () => {
      const begun = Promise.withResolvers<void>();
      const ended = runner.run(async () => {
        begun.resolve();
        await gate.promise;
      });
      return { begun: begun.promise, ended };
    });
    await Promise.all(held.map(({ begun }) => begun));
    expect(await store.renew([{ ...asked, fence: claim.fence, leaseMs: 30_000 }])).toEqual(["ok"]);
    gate.resolve();
    await Promise.all(held.map(({ ended }) => ended));
    await store.close();
    await close();
  });

  test("S18 a library on another database, or not ready, is refused by name", async () => {
    const other = bench.dialect === "postgres" ? await mariadbUrl() : await postgresUrl();
    for (const name of ["knex", "sequelize"]) {
      const { client, close } = await libraries[name]!(other);
      expect(() => storeOver(client)).toThrow(/client: expected an instance for/);
      await close();
    }
    const early = new DataSource({ type: bench.dialect === "postgres" ? "postgres" : "mariadb", url: bench.url });
    expect(() => storeOver(early as never)).toThrow(/initialize\(\) first/);
  });
});
