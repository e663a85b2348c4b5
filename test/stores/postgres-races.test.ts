import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { postgresStore } from "ichido/postgres";
import { sampleIdentity, sampleResponse, spawnChild } from "ichido/testing";
import { postgresUrl } from "../support/services.ts";
import { grant, openLife, request } from "./postgres-life.ts";
import type { Life } from "./postgres-life.ts";

const serverUrl = await postgresUrl();
const keys = 200;
const duplicates = 8;

describe.each([true, false])("postgres, races, group %s", (group) => {
  let life: Life;
  beforeAll(async () => {
    life = await openLife(serverUrl, { group });
  });
  afterAll(() => life.end());

  it(`S1 two processes that claim ${keys} keys ${duplicates} times each have one grant per key between them`, async () => {
    const program = new URL("postgres-process.child.ts", import.meta.url);
    const args = (name: string): string[] => [life.url, name, `${keys}`, `${duplicates}`, `${group}`];
    const options = { readyPattern: /^ready$/, readyMs: 60_000 };
    const children = await Promise.all(
      ["one", "two"].map((name) => spawnChild(program, { args: args(name), ...options })),
    );
    for (const child of children) child.write("go");
    const reports = await Promise.all(
      children.map(async (child) => {
        const [line] = await child.waitFor(/^\{.*\}$/, 60_000);
        return JSON.parse(line) as { granted: Record<string, number>; outcomes: Record<string, number> };
      }),
    );
    for (let key = 0; key < keys; key += 1) {
      const grants = reports.map(({ granted }) => granted[`key-${key}`] ?? 0);
      expect(
        grants.reduce((sum, each) => sum + each, 0),
        `key-${key}`,
      ).toBe(1);
    }
    // Not vacuous: both took part, and duplicates were refused or replayed.
    for (const { granted, outcomes } of reports) {
      expect(Object.keys(granted).length).toBeGreaterThan(0);
      expect((outcomes["processing"] ?? 0) + (outcomes["completed"] ?? 0)).toBeGreaterThan(0);
    }
    expect(await life.ask<string>("select count(*) from ichido_records where state = 'completed'")).toBe(`${keys}`);
  });

  it("S1 16 connections racing for one key over 500 rounds have one grant a round, all others see it", async () => {
    const connections = Array.from({ length: 16 }, () => postgresStore(life.newPool({ max: 1 }), { group }));
    const wrong: string[] = [];
    for (let round = 0; round < 500; round += 1) {
      const results = await Promise.all(
        connections.map((store, index) => store.claim(request(`round-${round}`, `${round}-${index}`))),
      );
      const granted = results.filter((result) => result.outcome === "granted").length;
      const refused = results.filter((result) => result.outcome === "processing").length;
      if (granted !== 1 || refused !== 15) wrong.push(`round ${round}: ${granted} granted, ${refused} refused`);
    }
    expect(wrong).toEqual([]);
    expect(await life.ask<number>("select count(*)::int from ichido_records where key like 'round-%'")).toBe(500);
  }, 120_000);

  it("S5 a crowd completes a record that moves on the disk meanwhile, and one that does not", async () => {
    const claims = await Promise.all(
      ["moving", "staying"].map((key) => grant(life.store, request(`crowd-${key}`, key))),
    );
    const other = await life.newPool({ max: 1 }).connect();
    await other.query("begin");
    await other.query("update ichido_records set updated_at = clock_timestamp() where key = 'crowd-moving'");
    const results = Promise.all(claims.map((claim) => life.store.complete({ ...claim, response: sampleResponse() })));
    await expect
      .poll(
        () => life.ask<number>("select count(*)::int from pg_locks where not granted and locktype = 'transactionid'"),
        {
          interval: 5,
        },
      )
      .toBe(1);
    await other.query("commit");
    other.release();
    expect(await results).toEqual(["ok", "ok"]);
    const completed = "select count(*)::int from ichido_records where key like 'crowd-%' and state = 'completed'";
    expect(await life.ask<number>(completed)).toBe(2);
  });

  it("S4 16 connections racing for a lapsed key over 100 rounds have one takeover a round", async () => {
    const connections = Array.from({ length: 16 }, () => postgresStore(life.newPool({ max: 1 }), { group }));
    const identity = sampleIdentity("lapsing");
    await life.store.claim(request("lapsing", "first"));
    let lastFence = 0;
    for (let round = 0; round < 100; round += 1) {
      await life.ask(
        "update ichido_records set lease_until = clock_timestamp() - interval '1 s' where key = $1 returning 1",
        ["lapsing"],
      );
      const results = await Promise.all(
        connections.map((store, index) => store.claim(request("lapsing", `${round}-${index}`, { identity }))),
      );
      const [winner, ...others] = results.filter((result) => result.outcome === "granted");
      expect(others).toEqual([]);
      expect(winner?.attempt).toBe(round + 2);
      expect(winner?.fence).toBeGreaterThan(lastFence);
      lastFence = winner?.fence ?? 0;
    }
  }, 120_000);

  it("S4 crowds that take the same lapsed keys in opposite orders have one winner a key and no deadlock", async () => {
    const crowds = Array.from({ length: 4 }, () => postgresStore(life.newPool({ max: 4 }), { group }));
    const names = Array.from({ length: 30 }, (_, index) => `circle-${index}`);
    await Promise.all(names.map((key) => life.store.claim(request(key, "first"))));
    const deadlocks = (): Promise<number> =>
      life.ask("select deadlocks::int from pg_stat_database where datname = current_database()");
    for (let round = 0; round < 10; round += 1) {
      await life.ask(
        "with l as (update ichido_records set lease_until = null where key like 'circle-%' returning 1) select count(*) from l",
      );
      const results = await Promise.all(
        crowds.flatMap((store, crowd) =>
          (crowd % 2 === 0 ? names : names.toReversed()).map((key) =>
            store.claim(request(key, `${round}-${crowd}-${key}`)),
          ),
        ),
      );
      expect(results.filter((result) => result.outcome === "granted")).toHaveLength(names.length);
    }
    expect(await deadlocks()).toBe(0);
  }, 120_000);

  it("S2 a claim whose first copy stalls at COMMIT is refused as one that may have been sent before", async () => {
    const lockTimeoutMs = 100;
    const admin = life.newPool({ max: 1 });
    const store = postgresStore(life.newPool({ max: 3 }), { group, callTimeoutMs: 1_000, lockTimeoutMs });
    await grant(store, request("before-the-stall", "a"));
    // As a standby that does not answer holds up whoever waits for it.
    await admin.query("create sequence stalls");
    await admin.query(`create function stall() returns trigger language plpgsql as
      $$ begin if nextval('stalls') = 1 then perform pg_sleep(3); end if; return null; end $$`);
    await admin.query(`create constraint trigger stall after insert on ichido_records deferrable initially deferred
      for each row execute function stall()`);
    try {
      const asked = request("stalled", "a");
      expect(await store.claim(asked)).toMatchObject({ outcome: "processing", unheard: true });
      await expect.poll(async () => (await store.find(asked.identity))?.state, { timeout: 20_000 }).toBe("processing");
    } finally {
      await admin.query("drop trigger stall on ichido_records");
      await admin.query("drop function stall");
      await admin.query("drop sequence stalls");
    }
  });
});
