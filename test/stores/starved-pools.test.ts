/** The program's own transactions hold every connection of the pool: what becomes of the heartbeat. */
import mariadbDriver from "mariadb";
import mysql2 from "mysql2/promise";
import postgres from "postgres";
import pg, { type PoolClient } from "pg";
import {
  createIchido,
  type Claim,
  type Ichido,
  type IchidoError,
  type IchidoEvent,
  type IchidoOptions,
  type Store,
} from "ichido";
import { mysqlStore, type MysqlPool, type MysqlStore } from "ichido/mysql";
import { postgresStore, type PostgresStore } from "ichido/postgres";
import { mariadbTransactions, mysql2Transactions, pgTransactions, postgresTransactions } from "ichido/transactions";
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

/** One after the other and at once, those of the owner and those of nobody. */
async function expectRenewed(store: Store, claim: Claim): Promise<void> {
  const renewal = { ...claim, leaseMs: 30_000 };
  expect(await store.renew([renewal])).toEqual(["ok"]);
  const both = [store.renew([renewal]), store.renew([{ ...renewal, fence: claim.fence + 1 }])];
  expect(await Promise.all(both)).toEqual([["ok"], ["stale"]]);
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
    await expectRenewed(store, claim);
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
});

describe("postgres on postgres.js: renewals never wait behind the business", () => {
  let life: Life;
  beforeAll(async () => {
    life = await openLife(serverUrl);
  });
  afterAll(() => life.end());

  async function starved(name: string) {
    const sql = postgres(life.url, { max: 1, onnotice: () => undefined, connection: { application_name: name } });
    const lent = await sql.reserve();
    await lent`select 1`;
    const count = "select count(*)::int from pg_stat_activity where application_name = $1";
    return { sql, free: () => lent.release(), own: async () => (await life.ask<number>(count, [name])) - 1 };
  }

  it("S5 a renewal goes over the driver's connection beside the pool, that close ends", async () => {
    const claim = await grant(life.store, request("js-starved", "a"));
    const { sql, own, free } = await starved("js-starved");
    const store = postgresStore(sql);
    await expectRenewed(store, claim);
    expect(await own()).toBe(1);
    await store.close();
    await until("its end to reach the server", async () => (await own()) === 0);
    free();
    expect(warned).not.toContain("pool-starved");
    await sql.end();
  });

  it("it is ended with the pool, should the store not be closed", async () => {
    const claim = await grant(life.store, request("js-unclosed", "a"));
    const { sql, own, free } = await starved("js-unclosed");
    expect(await postgresStore(sql).renew([{ ...claim, leaseMs: 30_000 }])).toEqual(["ok"]);
    free();
    await sql.end();
    await until("both ends to reach the server", async () => (await own()) === -1);
  });

  it("it is opened again when the server ended it", async () => {
    const claim = await grant(life.store, request("js-ended", "a"));
    const { sql, own, free } = await starved("js-ended");
    const store = postgresStore(sql);
    expect(await store.renew([{ ...claim, leaseMs: 30_000 }])).toEqual(["ok"]);
    await life.ask(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where application_name = 'js-ended' and query like '%lease_until%'`,
    );
    expect(await store.renew([{ ...claim, leaseMs: 30_000 }])).toEqual(["ok"]);
    expect(await own()).toBe(1);
    free();
    await store.close();
    await sql.end();
  });

  it("the program's own notifications arrive before, meanwhile and after close", async () => {
    const claim = await grant(life.store, request("js-listening", "a"));
    const { sql, own, free } = await starved("js-listening");
    const heard: string[] = [];
    const store = postgresStore(sql);
    const hears = async (payload: string): Promise<void> => {
      await life.ask("select pg_notify('bell', $1)::text", [payload]);
      await until("the notification", () => heard.includes(payload));
    };
    expect(await store.renew([{ ...claim, leaseMs: 30_000 }])).toEqual(["ok"]);
    await sql.listen("bell", (payload) => void heard.push(payload));
    await hears("first");
    expect(await store.renew([{ ...claim, leaseMs: 30_000 }])).toEqual(["ok"]);
    await store.close();
    await hears("second");
    expect(await own()).toBe(1);
    free();
    await sql.end();
  });

  it("a pool that has a connection left is used, and nothing is opened", async () => {
    const claim = await grant(life.store, request("js-free", "a"));
    const { sql, own, free } = await starved("js-free");
    free();
    const store = postgresStore(sql);
    expect(await store.renew([{ ...claim, leaseMs: 30_000 }])).toEqual(["ok"]);
    expect(await own()).toBe(0);
    await store.close();
    await sql.end();
  });

  it("of another make that does not listen: the pool is waited for, and that is told once", async () => {
    const claim = await grant(life.store, request("js-other", "a"));
    const { sql, free } = await starved("js-other");
    const store = postgresStore(
      Object.assign(() => undefined, { unsafe: (...asked: Parameters<typeof sql.unsafe>) => sql.unsafe(...asked) }),
    );
    await expectTold(store, claim, free);
    await store.close();
    await sql.end();
  });
});

const mariadb = await mariadbUrl();

describe.each(drivers)("mysql on %s: renewals never wait behind the business", (driver) => {
  /** All connections of the pool, those of the store's own beside it, and a claim. */
  async function withStarved(
    work: (
      store: MysqlStore,
      claim: Claim,
      more: {
        free: () => void;
        own: () => Promise<readonly number[]>;
        kill: (id: number) => Promise<unknown>;
        pool: MysqlPool;
      },
    ) => Promise<void>,
  ): Promise<void> {
    const database = await freshDatabase(mariadb);
    const client = openClient(driver, database.url, { connections: 1 });
    const admin = openClient(driver, mariadb, { connections: 1 });
    try {
      const store = mysqlStore(client.pool, { callTimeoutMs: 2_000 });
      await store.migrate();
      const claim = await granted(store, mysqlRequest("starved", "a"));
      const [{ id } = {}] = await client.rows("select connection_id() as id");
      const lent = await client.pool.getConnection();
      const name = new URL(database.url).pathname.slice(1);
      await work(store, claim, {
        pool: client.pool,
        free: () => void lent.release(),
        own: async () =>
          (await admin.rows(`select id from information_schema.processlist where db = '${name}'`))
            .map((row) => Number(row["id"]))
            .filter((each) => each !== Number(id)),
        kill: (each) => admin.rows(`kill ${each}`),
      });
      await store.close();
    } finally {
      await client.end();
      await admin.end();
      await database.drop();
    }
  }

  it("S5 a renewal goes over a connection of the store's own, one for all, that close ends", async () => {
    await withStarved(async (store, claim, { own, free }) => {
      await expectRenewed(store, claim);
      expect(await own()).toHaveLength(1);
      await store.close();
      await until("its end to reach the server", async () => (await own()).length === 0);
      free();
      expect(warned).not.toContain("pool-starved");
    });
  });

  it("a connection that the server ended is opened again", async () => {
    await withStarved(async (store, claim, { own, kill, free }) => {
      expect(await store.renew([{ ...claim, leaseMs: 30_000 }])).toEqual(["ok"]);
      const [first = 0] = await own();
      await kill(first);
      expect(await store.renew([{ ...claim, leaseMs: 30_000 }])).toEqual(["ok"]);
      expect(await own()).toEqual([expect.not.toBeOneOf([first])]);
      free();
    });
  });

  it("a claim that got no connection does not make renewals wait for one", async () => {
    await withStarved(async (store, claim, { free }) => {
      await expect(store.claim(mysqlRequest("other", "a"))).rejects.toMatchObject({ code: "store-unavailable" });
      expect(await store.renew([{ ...claim, leaseMs: 30_000 }])).toEqual(["ok"]);
      free();
    });
  });

  it("a pool that has a connection left is used, and nothing is opened", async () => {
    await withStarved(async (store, claim, { own, free }) => {
      free();
      expect(await store.renew([{ ...claim, leaseMs: 30_000 }])).toEqual(["ok"]);
      expect(await own()).toEqual([]);
    });
  });

  it("many stores over one pool leave it one listener at most", async () => {
    await withStarved(async (_, __, { pool, free }) => {
      for (let each = 0; each < 20; each += 1) mysqlStore(pool, { tablePrefix: `t${each}_` });
      await new Promise((resolve) => setImmediate(resolve));
      expect(warned).not.toContain("MaxListenersExceededWarning");
      free();
    });
  });

  it("of another make: the pool is waited for, and that is told once", async () => {
    await withStarved(async (_, claim, { pool, free }) => {
      const store = mysqlStore({ getConnection: () => pool.getConnection() });
      await expectTold(store, claim, free);
    });
  });
});

describe("as many transactions as the pool has connections, each longer than a lease", () => {
  type Opened = Required<Pick<IchidoOptions<never>, "store" | "transactions">> & { end(): Promise<unknown> };
  const ours = 2;
  const leaseMs = 1_500;

  const openers: Record<string, { url: string; open: (url: string, max: number) => Opened }> = {
    pg: {
      url: serverUrl,
      open(url, max) {
        const pool = new pg.Pool({ connectionString: url, max });
        return { store: postgresStore(pool), transactions: pgTransactions(pool), end: () => pool.end() };
      },
    },
    "postgres.js": {
      url: serverUrl,
      open(url, max) {
        const sql = postgres(url, { max, onnotice: () => undefined });
        return { store: postgresStore(sql), transactions: postgresTransactions(sql), end: () => sql.end() };
      },
    },
    mysql2: {
      url: mariadb,
      open(url, connectionLimit) {
        const pool = mysql2.createPool({ uri: url, connectionLimit });
        return { store: mysqlStore(pool), transactions: mysql2Transactions(pool), end: () => pool.end() };
      },
    },
    mariadb: {
      url: mariadb,
      open(url, connectionLimit) {
        const pool = mariadbDriver.createPool(
          `${url.replace(/^mysql:/, "mariadb:")}?connectionLimit=${connectionLimit}`,
        );
        return { store: mysqlStore(pool), transactions: mariadbTransactions(pool), end: () => pool.end() };
      },
    },
  };

  it.each(Object.entries(openers))("on %s none is taken over and each runs once", async (_, { url, open }) => {
    const database = await freshDatabase(url);
    const [first, second] = [open(database.url, ours + 1), open(database.url, 5)];
    await (second.store as PostgresStore | MysqlStore).migrate();
    const events: IchidoEvent[] = [];
    const [one, other] = [first, second].map(({ store, transactions }) =>
      createIchido({
        store,
        transactions,
        scope: () => ({ tenant: "t" }),
        onUnknown: "rerun",
        leaseMs,
        onEvent: (event) => events.push(event),
      }),
    ) as [Ichido, Ichido];
    const keys = Array.from({ length: ours }, (__, index) => `key-${index}`);
    const runs: string[] = [];
    const gate = Promise.withResolvers<void>();
    const ask = (ichido: Ichido, key: string): Promise<unknown> =>
      ichido.run({ operation: "op", scope: { tenant: "t" }, key }, async (context) => {
        await context.transaction(async () => {
          runs.push(key);
          if (ichido === one) await gate.promise;
          return { status: 201, body: { key } };
        });
      });
    // The one that those of ichido's leave free.
    const begun = Promise.withResolvers<void>();
    const beside = first.transactions.run(async () => {
      begun.resolve();
      await gate.promise;
    });
    try {
      const answers: Promise<unknown>[] = [];
      for (const key of keys) {
        answers.push(ask(one, key));
        await until(`the body of ${key}`, () => runs.includes(key));
      }
      await begun.promise;
      // Asked all along, until the first leases, had nobody renewed them, would be over twice.
      const endMs = performance.now() + 2 * leaseMs;
      const refusals = new Set<unknown>();
      await until(
        "two leases to pass",
        async () => {
          const asked = await Promise.allSettled(keys.map((key) => ask(other, key)));
          for (const each of asked) refusals.add(each.status === "rejected" ? (each.reason as IchidoError).code : each);
          return performance.now() > endMs;
        },
        10 * leaseMs,
      );
      gate.resolve();
      expect(await Promise.all(answers)).toEqual(keys.map((key) => ({ value: { key }, replayed: false })));
      expect([...refusals]).toEqual(["idempotency-in-flight"]);
      expect(runs).toEqual(keys);
      const amiss = ["takeover", "lease-lost", "fence-rejected"];
      expect(events.filter((event) => amiss.includes(event.type))).toEqual([]);
      expect(warned).not.toContain("pool-starved");
    } finally {
      gate.resolve();
      await beside;
      await Promise.all([one.close(), other.close()]);
      await Promise.all([first.store.close(), second.store.close()]);
      await Promise.all([first.end(), second.end()]);
      await database.drop();
    }
  });
});
