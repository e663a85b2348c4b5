import pg from "pg";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { systemEnvironment, type Environment } from "../../packages/ichido/src/core/contract/environment.ts";
import { postgresStore } from "ichido/postgres";
import { sampleIdentity, sampleResponse } from "ichido/testing";
import { postgresUrl } from "../support/services.ts";
import { grant, openLife, request } from "./postgres-life.ts";
import type { Life } from "./postgres-life.ts";

const serverUrl = await postgresUrl();

interface Looks {
  readonly environment: Environment;
  /** One poll, from its timer to the next one's being set. */
  once(): Promise<void>;
  /** Polls until the waiter is awake. */
  until(waiting: Promise<void>): Promise<void>;
}

/** No poll starts unless it is told to, and no wait ends by its time: what wakes a waiter is known. */
function looksByHand(): Looks {
  let due: (() => void) | undefined;
  const take = (): (() => void) | undefined => {
    const taken = due;
    due = undefined;
    return taken;
  };
  const environment: Environment = {
    ...systemEnvironment,
    after(delayMs, run, options) {
      if (delayMs >= waitMs) return { cancel: () => undefined };
      // Whatever holds the process is no poll but the pause before a second try.
      if (options?.hold === true) return systemEnvironment.after(delayMs, run, options);
      due = run;
      return { cancel: () => void (due === run && take()) };
    },
  };
  return {
    environment,
    async once() {
      await vi.waitUntil(() => due !== undefined, patience);
      take()?.();
      await vi.waitUntil(() => due !== undefined, patience);
    },
    async until(waiting) {
      let isAwake = false;
      void waiting.then(() => (isAwake = true));
      await vi.waitUntil(() => {
        take()?.();
        return isAwake;
      }, patience);
    },
  };
}

const waitMs = 600_000;
const patience = { timeout: 60_000, interval: 1 };

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
      const name = `waiters-${listen}`;
      const pool = life.newPool({ max: 50, application_name: name, idleTimeoutMillis: 0 });
      let connections = 0;
      pool.on("connect", () => (connections += 1));
      const looks = looksByHand();
      const store = postgresStore(pool, { listen, environment: looks.environment });
      const claim = await grant(life.store, request(`crowd-${listen}`, "a"));
      let woken = 0;
      const waiters = Array.from({ length: 100 }, () => store.watch(claim.identity, waitMs).then(() => (woken += 1)));
      for (let look = 0; look < 20; look += 1) await looks.once();
      expect([woken, connections]).toEqual([0, 1]);
      const own = await life.ask("select count(*)::int from pg_stat_activity where application_name = $1", [name]);
      expect(own).toBe(listen ? 2 : 1);
      await life.store.complete({ ...claim, response: sampleResponse() });
      await looks.until(Promise.all(waiters).then(() => undefined));
      await store.close();
    },
  );

  it("S18 waiters of this process wake at once when it completes the record itself", async () => {
    const store = postgresStore(life.newPool(), { environment: looksByHand().environment });
    const claim = await grant(store, request("local", "a"));
    const waiting = store.watch(claim.identity, waitMs);
    await store.complete({ ...claim, response: sampleResponse() });
    await waiting;
    await store.close();
  });

  it("S18 a record that changed before the wait began wakes it", async () => {
    const claim = await grant(life.store, request("before", "a"));
    await life.store.complete({ ...claim, response: sampleResponse() });
    const looks = looksByHand();
    const other = postgresStore(life.newPool(), { environment: looks.environment });
    await looks.until(other.watch(claim.identity, waitMs));
    await looks.until(other.watch(sampleIdentity("absent"), waitMs));
  });

  it("S18 a lease that lapses wakes the waiter", async () => {
    const claim = await grant(life.store, request("lapses", "a", { leaseMs: 100 }));
    const looks = looksByHand();
    const other = postgresStore(life.newPool(), { environment: looks.environment });
    await looks.until(other.watch(claim.identity, waitMs));
    expect((await life.store.find(claim.identity))?.leaseLeftMs).toBeLessThanOrEqual(0);
  });

  it("S18 a wait ends at its timeout, and with the store", async () => {
    const claim = await grant(life.store, request("ends", "a"));
    const startMs = performance.now();
    await life.store.watch(claim.identity, 120);
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(115);
    const other = postgresStore(life.newPool(), { environment: looksByHand().environment });
    const waiting = other.watch(claim.identity, waitMs);
    await other.close();
    await waiting;
  });

  it("notifications go out only for records that somebody listens for, and never carry the key", async () => {
    const pool = life.newPool({ application_name: "listening" });
    const looks = looksByHand();
    const listening = postgresStore(pool, { listen: true, environment: looks.environment });
    const quiet = await grant(life.store, request("quiet", "a"));
    const watched = await grant(life.store, request("watched-key", "a"));
    let woken = false;
    const waiting = listening.watch(watched.identity, waitMs).then(() => (woken = true));
    await looks.once();
    expect(await life.ask("select watched from ichido_records where key = 'watched-key'")).toBe(true);
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
    "a notification wakes, without a poll: %s",
    async (verb) => {
      const looks = looksByHand();
      const listening = postgresStore(life.newPool(), { listen: true, environment: looks.environment });
      const claim = await grant(life.store, request(`notified-${verb}`, "a"));
      const waiting = listening.watch(claim.identity, waitMs);
      await looks.once();
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
    const looks = looksByHand();
    const pool = life.newPool({ application_name: "cut" });
    const listening = postgresStore(pool, { listen: true, environment: looks.environment });
    const claim = await grant(life.store, request("cut", "a"));
    let woken = false;
    const waiting = listening.watch(claim.identity, waitMs).then(() => void (woken = true));
    await looks.once();
    const ears = "from pg_stat_activity where application_name = 'cut' and query like 'listen%'";
    expect(await life.ask(`select count(pg_terminate_backend(pid))::int ${ears}`)).toBe(1);
    await vi.waitUntil(async () => (await life.ask(`select count(*)::int ${ears}`)) === 0, patience);
    await life.store.complete({ ...claim, response: sampleResponse() });
    expect(woken).toBe(false);
    await looks.until(waiting);
    await listening.close();
  });

  it("listens on the connection that it is given, and ends it", async () => {
    let client: pg.Client | undefined;
    let ended = false;
    const looks = looksByHand();
    const store = postgresStore(life.newPool(), {
      environment: looks.environment,
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
    const waiting = store.watch(claim.identity, waitMs);
    await looks.once();
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
