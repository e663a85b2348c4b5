/** S12 one sweeper at a time: while one is held in the middle of its work, another on a connection of its own gives up. */
import { Redis } from "ioredis";
import pg from "pg";
import { mysqlStore } from "ichido/mysql";
import { postgresStore } from "ichido/postgres";
import { redisStore } from "ichido/redis";
import type { RedisClient } from "ichido/redis";
import { openSqliteStore } from "ichido/sqlite";
import { sampleFingerprint, sampleIdentity, sampleOwner, sampleResponse, spawnChild } from "ichido/testing";
import type { Store } from "ichido";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { describeWith, freshDatabase, uniqueName } from "../support/services.ts";
import type { FreshDatabase } from "../support/services.ts";
import { emptyTables, intercepted, migrated, openClient as openMysql, trustClock } from "./mysql-clients.ts";
import type { Client } from "./mysql-clients.ts";
import { temporaryFile } from "./sqlite-files.ts";

const all = { limit: 1_000, budgetMs: 20_000 };
const gaveUp = { deleted: 0, more: false, guarded: false, busy: true };

function nothingBut(deleted: number): object {
  return { deleted, more: false, guarded: false };
}

async function complete(store: Store, count: number): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const identity = sampleIdentity(`old-${index}`);
      const owner = sampleOwner(`old-${index}`);
      const claim = await store.claim({
        identity,
        owner,
        fingerprint: sampleFingerprint(),
        leaseMs: 30_000,
        retentionMs: 3_600_000,
        takeover: "none",
      });
      if (claim.outcome !== "granted") throw new Error(claim.outcome);
      expect(await store.complete({ identity, owner, fence: claim.fence, response: sampleResponse() })).toBe("ok");
    }),
  );
}

/** A place where the first to come waits until it is let go. */
function barrier(): { readonly reached: Promise<void>; pass(): Promise<void>; open(): void } {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  return {
    reached: reached.promise,
    async pass() {
      reached.resolve();
      await opened.promise;
    },
    open: () => opened.resolve(),
  };
}

describeWith("postgres", "postgres sweepers", (url) => {
  let database: FreshDatabase;
  let admin: pg.Client;
  const pools: pg.Pool[] = [];
  beforeAll(async () => {
    database = await freshDatabase(url);
    admin = new pg.Client({ connectionString: database.url });
    await admin.connect();
  });
  afterAll(async () => {
    await Promise.all([...pools.map((pool) => pool.end()), admin.end()]);
    await database.drop();
  });

  function open(): ReturnType<typeof postgresStore> {
    const pool = new pg.Pool({ connectionString: database.url, max: 2 });
    pool.on("error", () => {});
    pools.push(pool);
    return postgresStore(pool, { callTimeoutMs: 60_000, lockTimeoutMs: 20_000 });
  }

  test("S12 a second sweeper gives up while the first deletes, though rows are left for it", async () => {
    const [first, second] = [open(), open()];
    await first.migrate();
    // More than one batch, so that a second sweeper could find rows which the first does not hold.
    await complete(first, 250);
    await admin.query("update ichido_records set expires_at = now() - interval '1 hour'");
    await first.tick({ intervalMs: 60_000 });
    await admin.query("update ichido_clock set steady_since = now() - interval '1 hour'");
    const gate = 4_711;
    await admin.query(`create function wait() returns trigger language plpgsql as
      'begin perform pg_advisory_xact_lock(${gate}); return old; end'`);
    await admin.query("create trigger wait before delete on ichido_records for each row execute function wait()");
    await admin.query(`select pg_advisory_lock(${gate})`);
    const sweeping = first.sweep(all);
    await eventually(async () => {
      const { rowCount } = await admin.query(`select from pg_locks where objid = ${gate} and not granted`);
      expect(rowCount).toBe(1);
    });
    const attempt = await second.sweep(all);
    await admin.query(`select pg_advisory_unlock(${gate})`);
    expect(attempt).toEqual(gaveUp);
    expect(await sweeping).toEqual(nothingBut(250));
    expect(await second.sweep(all)).toEqual(nothingBut(0));
  });
});

describeWith("mariadb", "mysql sweepers", (url) => {
  let database: FreshDatabase;
  let one: Client;
  let two: Client;
  beforeAll(async () => {
    database = await freshDatabase(url);
    one = openMysql("mysql2", database.url);
    two = openMysql("mariadb", database.url);
    await migrated(one);
  });
  afterAll(async () => {
    await Promise.all([one.end(), two.end()]);
    await database.drop();
  });
  beforeEach(async () => {
    await emptyTables(one);
    await complete(mysqlStore(one.pool), 30);
    await one.rows("update ichido_records set expires_us = 2, sweep_us = 2");
    await trustClock(one);
  });

  const deletes = (sql: string): boolean => sql.startsWith("delete r from");

  test("S12 a second sweeper gives up while the first deletes", async () => {
    const middle = barrier();
    const first = mysqlStore(intercepted(one.pool, (sql) => (deletes(sql) ? middle.pass() : undefined)));
    const second = mysqlStore(two.pool);
    const sweeping = first.sweep(all);
    await middle.reached;
    expect(await second.sweep(all)).toEqual(gaveUp);
    expect(await first.sweep(all), "the same store, too").toEqual(gaveUp);
    middle.open();
    expect(await sweeping).toEqual(nothingBut(30));
    expect(await second.sweep(all)).toEqual(nothingBut(0));
  });

  test("S12 a sweep that fails keeps nobody from sweeping", async () => {
    const first = mysqlStore(
      intercepted(one.pool, (sql) => {
        if (deletes(sql)) throw Object.assign(new Error("refused"), { errno: 1_031, sqlState: "HY000" });
      }),
    );
    await expect(first.sweep(all)).rejects.toMatchObject({ code: "store-unavailable" });
    expect(await mysqlStore(two.pool).sweep(all)).toEqual(nothingBut(30));
  });

  test("S12 a sweeper that loses its connection loses the lock, and asks for it again on another", async () => {
    const middle = barrier();
    let passed = false;
    const first = mysqlStore(
      intercepted(one.pool, async (sql) => {
        if (passed || !deletes(sql)) return;
        passed = true;
        await middle.pass();
      }),
    );
    const sweeping = first.sweep(all);
    await middle.reached;
    const [holder] = await two.rows(
      "select is_used_lock(concat('ichido-sweep-', sha1(concat(database(), '.ichido_')))) as id",
    );
    await two.rows(`kill ${String(holder?.["id"])}`);
    await eventually(async () => expect(await mysqlStore(two.pool).sweep(all)).toEqual(nothingBut(30)));
    middle.open();
    expect(await sweeping).toEqual(nothingBut(0));
  });
});

describeWith("redis", "redis sweepers", (url) => {
  const family = uniqueName("redis-sweepers");
  const clients = [new Redis(url), new Redis(url)] as const;
  const [one, two] = clients;
  let opened = 0;
  let prefix = "";
  afterAll(async () => {
    const keys = await one.keys(`${family}*`);
    if (keys.length > 0) await one.del(...keys);
    for (const client of clients) client.disconnect();
  });
  beforeEach(async () => {
    prefix = `${family}:${(opened += 1)}:`;
    const store = redisStore(one, { prefix });
    await complete(store, 30);
    for (const name of await one.keys(`${prefix}*`)) await one.hset(name, "e", "2");
    await store.tick({ intervalMs: 60_000 });
    await one.hset(`${prefix}{clock}`, "steady", "2");
  });

  /** Waits before its first walk over the keys. */
  function held(middle: ReturnType<typeof barrier>): RedisClient {
    return {
      options: {},
      call: (command, args) => one.call(command, args),
      duplicate: () => one.duplicate(),
      async callBuffer(command, args) {
        if (command === "scan") await middle.pass();
        return one.callBuffer(command, args);
      },
    };
  }

  test("S12 a second sweeper gives up while the first walks", async () => {
    const middle = barrier();
    const sweeping = redisStore(held(middle), { prefix }).sweep(all);
    await middle.reached;
    const second = redisStore(two, { prefix });
    expect(await second.sweep(all)).toEqual(gaveUp);
    expect(await two.pttl(`${prefix}{sweeper}`), "should the first die, the lock goes by itself").toBeGreaterThan(0);
    middle.open();
    expect(await sweeping).toEqual(nothingBut(30));
    expect(await second.sweep(all)).toEqual(nothingBut(0));
  });

  test("S12 a sweeper that was too slow leaves the lock of the next one alone", async () => {
    const middle = barrier();
    const sweeping = redisStore(held(middle), { prefix }).sweep(all);
    await middle.reached;
    await two.set(`${prefix}{sweeper}`, "next");
    middle.open();
    expect(await sweeping).toEqual(nothingBut(30));
    expect(await two.get(`${prefix}{sweeper}`)).toBe("next");
  });
});

describe("sqlite sweepers", () => {
  test("S12 a sweeper gives up while another process holds the write lock, where a claim would wait or fail", async () => {
    const file = temporaryFile();
    const store = await openSqliteStore(file.path, { migrate: true, lockTimeoutMs: 1_500 });
    try {
      await store.ping();
      const holder = await spawnChild(new URL("sqlite-process.child.ts", import.meta.url), {
        args: [file.path, "hold"],
        execArgv: ["--conditions=ichido-source", "--disable-warning=ExperimentalWarning"],
      });
      await holder.waitFor(/^ready$/);
      expect(await store.sweep(all)).toEqual(gaveUp);
      holder.write("go");
      await holder.exited;
      expect(await store.sweep(all)).toMatchObject({ deleted: 0, guarded: true });
    } finally {
      await store.close();
      file.remove();
    }
  });
});
