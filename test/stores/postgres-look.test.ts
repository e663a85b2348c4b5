/** What people look for among many records: a page that ends after so many, and a server that does not work on for nobody. */
import pg from "pg";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { postgresStore, type PostgresClient } from "ichido/postgres";
import type { ListPage, ListQuery } from "ichido";
import { eventually } from "../support/eventually.ts";
import { describeWith, freshDatabase, type FreshDatabase } from "../support/services.ts";
import { grant, request } from "./postgres-life.ts";

const records = 500;
const waitMs = 400;

/** A statement that reads records asks for the time of each: it takes seconds, of which none is waited for. */
const slowClock = `
  create schema slow;
  create function slow.clock_timestamp() returns timestamptz volatile language sql as
    'select pg_catalog.clock_timestamp() from pg_catalog.pg_sleep(0.5)';
`;

describeWith("postgres", "looking on PostgreSQL", (url) => {
  let database: FreshDatabase;
  let admin: pg.Client;
  beforeAll(async () => {
    database = await freshDatabase(url);
    admin = new pg.Client({ connectionString: database.url });
    await admin.connect();
    const pool = new pg.Pool({ connectionString: database.url });
    await postgresStore(pool).migrate();
    await pool.end();
    await admin.query(`insert into ichido_records (key, scope_hash, principal, operation, fingerprint_version, fingerprint_raw,
        fingerprint_canonical, state, origin, owner, fence, life, attempts, created_at, updated_at, expires_at)
      select 'key-' || i, sha256('scope'), case when i % 100 = 0 then 'rare' else 'usual' end, 'pay', 1, '', '', 'failed', 'first',
        gen_random_uuid(), i, i, 1, now(), now(), now() + interval '1 day' from generate_series(1, ${records}) i`);
    await admin.query(slowClock);
  }, 60_000);
  afterAll(async () => {
    await admin?.end();
    await database?.drop();
  });

  test("S17 pages end after so many records, matching or not, and together have every match once", async () => {
    const pool = new pg.Pool({ connectionString: database.url });
    const store = postgresStore(pool);
    const pages: ListPage[] = [];
    for (let cursor: string | undefined; ;) {
      const query: ListQuery = { principal: "rare", limit: 3, lookMax: 50, ...(cursor !== undefined && { cursor }) };
      const page = await store.list(query);
      pages.push(page);
      if (page.cursor === undefined) break;
      ({ cursor } = page);
    }
    const keys = pages.flatMap(({ records: found }) => found.map(({ identity }) => identity.key));
    expect(keys).toEqual(["key-100", "key-200", "key-300", "key-400", "key-500"]);
    expect(Math.max(...pages.map(({ looked = 0 }) => looked))).toBe(50);
    expect(pages.reduce((sum, { looked = 0 }) => sum + looked, 0)).toBe(records);
    // Without the bound, one page tells that there is nobody.
    expect(await store.list({ principal: "nobody", limit: 3 })).toEqual({ records: [] });
    await expect(store.list({ principal: "rare", limit: 3, lookMax: 0 })).rejects.toThrow(/lookMax/);
    await store.close();
    await pool.end();
  });

  const slow = "-c search_path=slow,public,pg_catalog";
  const clients: Readonly<Record<string, () => readonly [client: PostgresClient, end: () => Promise<unknown>]>> = {
    pg: () => {
      const pool = new pg.Pool({ connectionString: database.url, options: slow, application_name: "looker" });
      return [pool, () => pool.end()];
    },
    "postgres.js": () => {
      const connection = { application_name: "looker", search_path: "slow,public,pg_catalog" };
      const sql = postgres(database.url, { connection });
      return [sql, () => sql.end()];
    },
  };

  test.each(Object.keys(clients))("a look that nobody waits for any more ends on the server: %s", async (name) => {
    const [client, end] = (clients[name] as (typeof clients)[string])();
    const store = postgresStore(client, { callTimeoutMs: waitMs });
    try {
      await expect(store.list({ limit: 100 })).rejects.toMatchObject({ code: "store-unavailable" });
      const atWork =
        "select count(*)::int as n from pg_stat_activity where application_name = 'looker' and state = 'active'";
      await eventually(async () => expect((await admin.query(atWork)).rows).toEqual([{ n: 0 }]), 2_000);
      // And its connection is of use.
      await expect(store.list({ limit: 100 })).rejects.toMatchObject({ code: "store-unavailable" });
    } finally {
      await store.close();
      await end();
    }
  });

  test("S17 what was claimed since the clock went back is listed, also where a look was missed meanwhile", async () => {
    const pool = new pg.Pool({ connectionString: database.url });
    const store = postgresStore(pool);
    await store.tick({ intervalMs: 60_000 });
    await admin.query("update ichido_open_until set fence = fence + 600000000");
    const asked = { ...request("since-then", "a"), leaseMs: 50, doubtStays: true };
    await grant(store, asked);
    const unknown = async (): Promise<readonly string[]> =>
      (await store.list({ state: "unknown", limit: 10 })).records.map(({ identity }) => identity.key);
    await expect.poll(unknown, { timeout: 20_000 }).toEqual(["since-then"]);
    await admin.query(
      "update ichido_records set fence = fence - 300000000, life = life - 300000000 where key = 'since-then'",
    );
    expect(await unknown()).toEqual([]);
    await store.tick({ intervalMs: 60_000 });
    expect(await unknown()).toEqual(["since-then"]);
    expect((await store.stats()).unknown).toBe(1);
    await store.close();
    await pool.end();
  });
});
