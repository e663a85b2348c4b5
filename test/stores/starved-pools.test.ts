/** The program's own transactions hold every connection of the pool: what becomes of the heartbeat. */
import postgres from "postgres";
import type { PoolClient } from "pg";
import type { Claim, Store } from "ichido";
import { mysqlStore } from "ichido/mysql";
import { postgresStore, type PostgresStore } from "ichido/postgres";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { freshDatabase, mariadbUrl, postgresUrl } from "../support/services.ts";
import { until } from "../conformance/wire.ts";
import { drivers, openClient } from "./mysql-clients.ts";
import { granted, request as mysqlRequest } from "./mysql-life.ts";
import { grant, openLife, request, type Life } from "./postgres-life.ts";

const warned: string[] = [];
const note = (warning: Error & { code?: string }): void => void warned.push(warning.code ?? warning.name);
beforeAll(() => void process.on("warning", note));
afterAll(() => void process.off("warning", note));
afterEach(() => void warned.splice(0));

/** Two renewals wait, one warning comes, and both succeed once a connection is free. */
async function expectTold(store: Store, claim: Claim, free: () => unknown): Promise<void> {
  const renewals = [1, 2].map(() => store.renew([{ ...claim, leaseMs: 30_000 }]));
  await until("the warning", () => warned.includes("pool-starved"));
  free();
  expect(await Promise.all(renewals)).toEqual([["ok"], ["ok"]]);
  expect(warned.filter((code) => code === "pool-starved")).toHaveLength(1);
}

const serverUrl = await postgresUrl();

describe("postgres on pg: renewals never wait behind the business", () => {
  let life: Life;
  beforeAll(async () => {
    life = await openLife(serverUrl);
  });
  afterAll(() => life.end());

  interface Starved {
    readonly store: PostgresStore;
    /** Connections of the store's own. */
    readonly own: () => Promise<number>;
    readonly free: () => void;
  }

  async function starved(name: string, max = 2): Promise<Starved> {
    const pool = life.newPool({ max, application_name: name });
    const store = postgresStore(pool);
    const lent: PoolClient[] = [];
    for (let each = 0; each < max; each += 1) lent.push(await pool.connect());
    const count = "select count(*)::int from pg_stat_activity where application_name = $1";
    return {
      store,
      own: async () => (await life.ask<number>(count, [name])) - pool.totalCount,
      free: () => lent.splice(0).forEach((client) => client.release()),
    };
  }

  it("S5 a renewal goes over a connection of the store's own, one for all, that close ends", async () => {
    const claim = await grant(life.store, request("starved", "a"));
    const { store, own, free } = await starved("starved");
    const renewal = { ...claim, leaseMs: 30_000 };
    expect(await store.renew([renewal])).toEqual(["ok"]);
    expect(await Promise.all([store.renew([renewal]), store.renew([{ ...renewal, fence: 1 }])])).toEqual([
      ["ok"],
      ["stale"],
    ]);
    expect(await own()).toBe(1);
    await store.close();
    await until("its end to reach the server", async () => (await own()) === 0);
    free();
    expect(warned).not.toContain("pool-starved");
  });

  it("a pool that has a connection left is used, and nothing is opened", async () => {
    const claim = await grant(life.store, request("free", "a"));
    const { store, own, free } = await starved("free");
    free();
    expect(await store.renew([{ ...claim, leaseMs: 30_000 }])).toEqual(["ok"]);
    expect(await own()).toBe(0);
    await store.close();
  });

  it("a connection that the server ended is opened again", async () => {
    const claim = await grant(life.store, request("ended", "a"));
    const { store, own, free } = await starved("ended", 1);
    const renewal = { ...claim, leaseMs: 30_000 };
    expect(await store.renew([renewal])).toEqual(["ok"]);
    await life.ask(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where application_name = 'ended' and query like '%lease_until%' and state = 'idle'`,
    );
    expect(await store.renew([renewal])).toEqual(["ok"]);
    expect(await own()).toBe(1);
    free();
    await store.close();
  });

  it("where none can be had, the pool is waited for, and that is told once", async () => {
    const claim = await grant(life.store, request("refused", "a"));
    const pool = life.newPool({ max: 1 });
    const store = postgresStore(pool);
    const lent = await pool.connect();
    // Nobody listens there: as where the server has no connection left.
    Object.assign(pool.options, { connectionString: life.url.replace(/:\d+\//, ":1/") });
    await expectTold(store, claim, () => lent.release());
    await store.close();
  });

  it("on postgres.js a renewal that waits for a connection is told once", async () => {
    const claim = await grant(life.store, request("postgres-js", "a"));
    const sql = postgres(life.url, { max: 1, onnotice: () => undefined });
    const store = postgresStore(sql);
    const lent = await sql.reserve();
    await lent`select 1`;
    await expectTold(store, claim, () => lent.release());
    await store.close();
    await sql.end();
  });
});

const mariadb = await mariadbUrl();

describe.each(drivers)("mysql on %s", (driver) => {
  it("a renewal that waits for a connection is told once", async () => {
    const database = await freshDatabase(mariadb);
    const client = openClient(driver, database.url, { connections: 1 });
    try {
      const store = mysqlStore(client.pool);
      await store.migrate();
      const claim = await granted(store, mysqlRequest("starved", "a"));
      const lent = await client.pool.getConnection();
      await expectTold(store, claim, () => lent.release());
      await store.close();
    } finally {
      await client.end();
      await database.drop();
    }
  });
});
