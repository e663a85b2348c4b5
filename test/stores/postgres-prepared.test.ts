/** Prepared statements where they stay, and nowhere else. */
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { postgresStore } from "ichido/postgres";
import type { PostgresStoreOptions } from "ichido/postgres";
import { sampleResponse } from "ichido/testing";
import { postgresUrl, startPgbouncer } from "../support/services.ts";
import { grant, openLife, request } from "./postgres-life.ts";
import type { Life } from "./postgres-life.ts";

const serverUrl = await postgresUrl();

describe("postgres, prepared statements", () => {
  let life: Life;
  beforeAll(async () => {
    life = await openLife(serverUrl);
  });
  afterAll(() => life.end());

  /** One connection, so that its session can be asked. */
  function open(options?: PostgresStoreOptions): { store: ReturnType<typeof postgresStore>; pool: pg.Pool } {
    const pool = life.newPool({ max: 1 });
    return { store: postgresStore(pool, options), pool };
  }

  async function prepared(pool: pg.Pool): Promise<string[]> {
    const { rows } = await pool.query<{ name: string }>("select name from pg_prepared_statements order by name");
    return rows.map(({ name }) => name.replace(/_[0-9a-f]+$/, ""));
  }

  async function use(store: ReturnType<typeof postgresStore>, key: string): Promise<void> {
    for (const turn of [1, 2]) {
      const claim = await grant(store, request(`${key}-${turn}`, "a"));
      expect(await store.complete({ ...claim, response: sampleResponse() })).toBe("ok");
    }
    await store.find(request(`${key}-1`, "a").identity);
  }

  it("claims and completions are prepared on a connection straight to the server, other statements are not", async () => {
    const { store, pool } = open();
    await use(store, "direct");
    expect(await prepared(pool)).toEqual(["ichido_claim", "ichido_complete"]);
  });

  it("nothing is prepared where that is turned off", async () => {
    const { store, pool } = open({ prepare: false });
    await use(store, "off");
    expect(await prepared(pool)).toEqual([]);
  });

  it("a session whose statements were dropped goes on, on another connection", async () => {
    const { store, pool } = open();
    await use(store, "before");
    await pool.query("deallocate all");
    await use(store, "after");
    expect(await prepared(pool)).toEqual(["ichido_claim", "ichido_complete"]);
  });

  it("a bare client whose statements were dropped goes on without them", async () => {
    const client = new pg.Client({ connectionString: life.url });
    await client.connect();
    const store = postgresStore(client);
    await use(store, "client-before");
    await client.query("deallocate all");
    await use(store, "client-after");
    expect((await client.query("select from pg_prepared_statements")).rowCount).toBe(0);
    await client.end();
  });

  it("nothing is prepared through a pooler in transaction mode, even when it has one session to give", async () => {
    const pooler = await startPgbouncer(serverUrl, { poolMode: "transaction", poolSize: 1 });
    const url = new URL(pooler.url);
    url.pathname = new URL(life.url).pathname;
    const pool = new pg.Pool({ connectionString: url.href, max: 1 });
    pool.on("error", () => {});
    try {
      await use(postgresStore(pool), "pooled");
      expect(await prepared(pool)).toEqual([]);
    } finally {
      await pool.end();
      await pooler.stop();
    }
  });
});
