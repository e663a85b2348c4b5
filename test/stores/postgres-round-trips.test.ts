import pg from "pg";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { postgresStore } from "ichido/postgres";
import type { PostgresClient, PostgresStoreOptions } from "ichido/postgres";
import { sampleResponse } from "ichido/testing";
import { countTrips, type Wire } from "../support/round-trips.ts";
import { postgresUrl } from "../support/services.ts";
import { grant, openLife, request } from "./postgres-life.ts";
import type { Life } from "./postgres-life.ts";

const serverUrl = await postgresUrl();

describe("postgres, round trips on the wire", () => {
  let life: Life;
  let wire: Wire;
  const ends: (() => Promise<unknown>)[] = [];
  beforeAll(async () => {
    life = await openLife(serverUrl);
    wire = await countTrips(life.url);
  });
  afterAll(async () => {
    for (const end of ends) await end();
    wire.close();
    await life.end();
  });

  async function pgPool(): Promise<PostgresClient> {
    const pool = new pg.Pool({ connectionString: wire.url, max: 1 });
    pool.on("error", () => {});
    ends.push(() => pool.end());
    await pool.query("select 1");
    return pool;
  }

  async function postgresJs(): Promise<PostgresClient> {
    const sql = postgres(wire.url, { max: 1 });
    ends.push(() => sql.end());
    await sql`select 1`;
    return sql;
  }

  const variants: readonly [string, () => Promise<PostgresClient>, PostgresStoreOptions][] = [
    ["pg, grouped", pgPool, {}],
    ["pg, one by one", pgPool, { group: false }],
    ["pg, named statements", pgPool, { prepare: true }],
    ["postgres.js, named statements", postgresJs, { prepare: true }],
  ];

  it.each(variants)(
    "%s: claim, refusal, mismatch, completion and replay take one each",
    async (name, make, options) => {
      const store = postgresStore(await make(), options);
      // Named statements are prepared at their first use on a connection.
      const warm = await grant(store, request(`${name} warm`, "a"));
      await store.complete({ ...warm, response: sampleResponse() });

      const asked = request(name, "a");
      let fence = 0;
      expect(await wire.during(async () => ({ fence } = await grant(store, asked)))).toBe(1);
      expect(await wire.during(() => store.claim(request(name, "b")))).toBe(1);
      const other = { version: 1, raw: new Uint8Array(32), canonical: new Uint8Array(32) };
      expect(await wire.during(() => store.claim(request(name, "b", { fingerprint: other })))).toBe(1);
      expect(await wire.during(() => store.renew([{ ...asked, fence, leaseMs: 30_000 }]))).toBe(
        1 + firstUse(name, options),
      );
      expect(await wire.during(() => store.complete({ ...asked, fence, response: sampleResponse() }))).toBe(1);
      expect(await wire.during(() => store.claim(request(name, "c")))).toBe(1);
    },
  );

  it("postgres.js describes an unnamed statement before it runs it: two each, as its documentation of prepare implies", async () => {
    const store = postgresStore(await postgresJs());
    expect(await wire.during(() => store.claim(request("described", "a")))).toBe(2);
  });

  it("a crowd of 40 claims and 40 completions takes far fewer trips than callers", async () => {
    const store = postgresStore(await pgPool());
    const trips = await wire.during(() =>
      Promise.all(
        Array.from({ length: 40 }, async (_, index) => {
          const claim = await grant(store, request(`crowd-${index}`, `${index}`));
          expect(await store.complete({ ...claim, response: sampleResponse({ body: `${index}` }) })).toBe("ok");
        }),
      ),
    );
    expect(trips).toBeLessThanOrEqual(8);
    const stored = await life.ask<number>(
      "select count(*)::int from ichido_records where key = 'crowd-' || convert_from(response_body, 'UTF8')",
    );
    expect(stored).toBe(40);
  });

  it("S7 replays, refusals and mismatches write nothing: the row version and its lock field stay as they are", async () => {
    const { store } = life;
    const claim = await grant(store, request("still", "a"));
    const version = (key: string): Promise<string> =>
      life.ask("select ctid::text || ' ' || xmin::text || ' ' || xmax::text from ichido_records where key = $1", [key]);
    const inFlight = await version("still");
    expect((await store.claim(request("still", "b"))).outcome).toBe("processing");
    expect(await version("still")).toBe(inFlight);
    await store.complete({ ...claim, response: sampleResponse() });
    const done = await version("still");
    const other = { version: 1, raw: new Uint8Array(32), canonical: new Uint8Array(32) };
    for (let index = 0; index < 20; index += 1) {
      expect((await store.claim(request("still", `c${index}`))).outcome).toBe("completed");
      expect((await store.claim(request("still", `d${index}`, { fingerprint: other }))).outcome).toBe("mismatch");
    }
    expect(await version("still")).toBe(done);
  });

  it("renewals and completions stay on their page and leave the indexes alone", async () => {
    const { store } = life;
    const renewedAndCompleted = 60;
    for (let index = 0; index < renewedAndCompleted / 2; index += 1) {
      const claim = await grant(store, request(`hot-${index}`, `${index}`));
      await store.renew([{ ...claim, leaseMs: 30_000 }]);
      await store.complete({ ...claim, response: sampleResponse({ body: "x".repeat(400) }) });
    }
    await expect
      .poll(
        async () => {
          const counts = await life.ask<string>(
            "select n_tup_upd || ' ' || n_tup_hot_upd from pg_stat_user_tables where relname = 'ichido_records'",
          );
          const [updates = 0, hot = 0] = counts.split(" ").map(Number);
          return updates >= renewedAndCompleted && hot / updates > 0.7;
        },
        { timeout: 15_000 },
      )
      .toBe(true);
  });
});

/** postgres.js describes a named statement at its first use on a connection. */
function firstUse(name: string, options: PostgresStoreOptions): number {
  return options.prepare === true && name.startsWith("postgres.js") ? 1 : 0;
}
