import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { postgresStore } from "ichido/postgres";
import { sampleIdentity, sampleResponse } from "ichido/testing";
import { postgresUrl } from "../support/services.ts";
import { grant, openLife, request } from "./postgres-life.ts";
import type { Life } from "./postgres-life.ts";

const serverUrl = await postgresUrl();

describe("postgres, waiting duplicates", () => {
  let life: Life;
  beforeAll(async () => {
    life = await openLife(serverUrl);
  });
  afterAll(() => life.end());

  const channelOf = (): Promise<string> =>
    life.ask(
      "select query from pg_stat_activity where datname = current_database() and query like 'listen ichido_%' limit 1",
    );

  it.each([false, true])(
    "S18 a hundred waiters take one connection of the pool at most, listening %s",
    async (listen) => {
      const pool = life.newPool({ max: 50, application_name: `waiters-${listen}` });
      const store = postgresStore(pool, { listen });
      const claim = await grant(life.store, request(`crowd-${listen}`, "a"));
      let woken = 0;
      const waiters = Array.from({ length: 100 }, () => store.watch(claim.identity, 60_000).then(() => (woken += 1)));
      let most = 0;
      for (let look = 0; look < 20; look += 1) {
        await sleep(15);
        most = Math.max(most, pool.totalCount);
      }
      expect(woken).toBe(0);
      expect(most).toBe(1);
      const own = await life.ask("select count(*)::int from pg_stat_activity where application_name = $1", [
        `waiters-${listen}`,
      ]);
      expect(own).toBeLessThanOrEqual(listen ? 2 : 1);
      await life.store.complete({ ...claim, response: sampleResponse() });
      await Promise.all(waiters);
      await store.close();
    },
  );

  it("S18 waiters of this process wake at once when it completes the record itself", async () => {
    const { store } = life;
    const claim = await grant(store, request("local", "a"));
    const waiting = store.watch(claim.identity, 60_000);
    await store.complete({ ...claim, response: sampleResponse() });
    await waiting;
  });

  it("S18 a record that changed before the wait began wakes it", async () => {
    const claim = await grant(life.store, request("before", "a"));
    await life.store.complete({ ...claim, response: sampleResponse() });
    const other = postgresStore(life.newPool());
    await other.watch(claim.identity, 60_000);
    await other.watch(sampleIdentity("absent"), 60_000);
  });

  it("S18 a lease that lapses wakes the waiter", async () => {
    const claim = await grant(life.store, request("lapses", "a", { leaseMs: 100 }));
    await postgresStore(life.newPool()).watch(claim.identity, 60_000);
    expect((await life.store.find(claim.identity))?.leaseLeftMs).toBeLessThanOrEqual(0);
  });

  it("S18 a wait ends at its timeout, and with the store", async () => {
    const claim = await grant(life.store, request("ends", "a"));
    const startMs = performance.now();
    await life.store.watch(claim.identity, 120);
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(115);
    const other = postgresStore(life.newPool());
    const waiting = other.watch(claim.identity, 60_000);
    await other.close();
    await waiting;
  });

  it("notifications go out only for records that somebody listens for, and never carry the key", async () => {
    const pool = life.newPool({ application_name: "listening" });
    const listening = postgresStore(pool, { listen: true });
    const quiet = await grant(life.store, request("quiet", "a"));
    const watched = await grant(life.store, request("watched-key", "a"));
    let woken = false;
    const waiting = listening.watch(watched.identity, 60_000).then(() => (woken = true));
    await expect
      .poll(() => life.ask("select watched from ichido_records where key = 'watched-key'"), { timeout: 15_000 })
      .toBe(true);
    const [channel = ""] = /ichido_[0-9a-f]+/.exec(await channelOf()) ?? [];

    const heard: string[] = [];
    const ear = new pg.Client({ connectionString: life.url });
    ear.on("error", () => {});
    await ear.connect();
    ear.on("notification", (message) => heard.push(message.payload ?? ""));
    await ear.query(`listen ${channel}`);
    await life.store.complete({ ...quiet, response: sampleResponse() });
    expect(woken).toBe(false);
    await life.store.complete({ ...watched, response: sampleResponse() });
    await waiting;
    await ear.query("select 1");
    expect(heard).toHaveLength(1);
    expect(heard[0]).toMatch(/^[0-9a-f]{64}$/);
    await ear.end();
    await listening.close();
  });

  it.each(["complete", "release", "suspend", "settle"] as const)(
    "a notification wakes long before the next poll: %s",
    async (verb) => {
      const listening = postgresStore(life.newPool(), { listen: true });
      const claim = await grant(life.store, request(`notified-${verb}`, "a"));
      // A second waiter, so that the record is marked and the poll has slowed down by the time of the change.
      const waiting = listening.watch(claim.identity, 60_000);
      await expect
        .poll(() => life.ask("select watched from ichido_records where key = $1", [`notified-${verb}`]), {
          timeout: 15_000,
        })
        .toBe(true);
      if (verb === "complete") await life.store.complete({ ...claim, response: sampleResponse() });
      else if (verb === "release") await life.store.release(claim);
      else if (verb === "suspend") await life.store.suspend(claim);
      else {
        await life.ask("update ichido_records set lease_until = null where key = $1 returning 1", [`notified-${verb}`]);
        const decision = { kind: "release" } as const;
        await life.store.settle({ ...claim, decision, actor: "a", reason: "r" });
      }
      await waiting;
      await listening.close();
    },
  );

  it("S18 a lost LISTEN connection costs nothing but time", async () => {
    const listening = postgresStore(life.newPool({ application_name: "cut" }), { listen: true });
    const claim = await grant(life.store, request("cut", "a"));
    const waiting = listening.watch(claim.identity, 60_000);
    await expect
      .poll(() => life.ask("select watched from ichido_records where key = 'cut'"), { timeout: 15_000 })
      .toBe(true);
    await life.ask(
      "select count(pg_terminate_backend(pid))::int from pg_stat_activity where application_name = 'cut' and query like 'listen%'",
    );
    await life.store.complete({ ...claim, response: sampleResponse() });
    await waiting;
    await listening.close();
  });

  it("listens on the connection that it is given, and ends it", async () => {
    let client: pg.Client | undefined;
    let ended = false;
    const store = postgresStore(life.newPool(), {
      listen: {
        connect: async () => {
          client = new pg.Client({ connectionString: life.url });
          client.on("end", () => (ended = true));
          await client.connect();
          return client;
        },
      },
    });
    const claim = await grant(life.store, request("given", "a"));
    const waiting = store.watch(claim.identity, 60_000);
    await expect
      .poll(() => life.ask("select watched from ichido_records where key = 'given'"), { timeout: 15_000 })
      .toBe(true);
    await life.store.complete({ ...claim, response: sampleResponse() });
    await waiting;
    expect(client).toBeDefined();
    await store.close();
    await expect.poll(() => ended).toBe(true);
  });

  it("a single client cannot listen for itself, and says so", async () => {
    const client = new pg.Client({ connectionString: life.url });
    expect(() => postgresStore(client, { listen: true })).toThrow(/connect/);
  });
});
