/**
 * Claims whose reply is lost, on real servers. A takeover that the store sends again is a takeover all the same; a claim
 * that nobody waits for any more is given back.
 */
import pg from "pg";
import { createIchido, createReconciler } from "ichido";
import type { Store, VerifyAnswer } from "ichido";
import { mysqlStore } from "ichido/mysql";
import { postgresStore } from "ichido/postgres";
import { redisStore } from "ichido/redis";
import { createFaultProxy } from "ichido/testing";
import type { CutRule, FaultProxy } from "ichido/testing";
import { afterEach, describe, expect, it, vi } from "vitest";
import * as mysql from "../stores/mysql-clients.ts";
import * as redis from "../stores/redis-clients.ts";
import { freshDatabase, mariadbUrl, postgresUrl, redisUrl, uniqueName } from "../support/services.ts";

const endings: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).toReversed()) await end();
});

interface Opened {
  readonly direct: Store;
  /** Behind the proxy. */
  readonly store: Store;
  readonly proxy: FaultProxy;
}

async function proxied(target: string): Promise<FaultProxy> {
  const proxy = await createFaultProxy({ target });
  endings.push(() => proxy.close());
  return proxy;
}

async function openPostgres(group: boolean, callTimeoutMs = 2_000): Promise<Opened> {
  const database = await freshDatabase(await postgresUrl());
  endings.push(() => database.drop());
  const proxy = await proxied(database.url);
  const stores = [database.url, proxy.url].map((connectionString) => {
    const pool = new pg.Pool({ connectionString, max: 4 });
    pool.on("error", () => undefined);
    endings.push(() => pool.end());
    return postgresStore(pool, { group, callTimeoutMs });
  });
  const [direct, store] = stores as [(typeof stores)[number], (typeof stores)[number]];
  await direct.migrate();
  return { direct, store, proxy };
}

async function openMysql(callTimeoutMs = 5_000): Promise<Opened> {
  const database = await freshDatabase(await mariadbUrl());
  endings.push(() => database.drop());
  const proxy = await proxied(database.url);
  const stores = [database.url, proxy.url].map((url) => {
    const client = mysql.openClient("mysql2", url, { connections: 4 });
    endings.push(() => client.end());
    return mysqlStore(client.pool, { callTimeoutMs });
  });
  const [direct, store] = stores as [(typeof stores)[number], (typeof stores)[number]];
  await direct.migrate();
  return { direct, store, proxy };
}

async function openRedis(driver: redis.Driver, callTimeoutMs = 5_000): Promise<Opened> {
  const url = await redisUrl();
  const proxy = await proxied(url);
  const prefix = `${uniqueName()}:`;
  const opened = await Promise.all([url, proxy.url].map((each) => redis.openClient(driver, each)));
  endings.push(() => Promise.all(opened.map((each) => each.end())));
  const [direct, store] = opened.map(({ client }) => redisStore(client, { prefix, callTimeoutMs }));
  return { direct: direct as Store, store: store as Store, proxy };
}

interface Subject {
  readonly name: string;
  readonly open: () => Promise<Opened>;
  readonly lost: (key: string) => CutRule;
}

const subjects: readonly Subject[] = [
  ...[true, false].flatMap((group): Subject[] => [
    {
      name: `postgres, group ${group}, connection cut`,
      open: () => openPostgres(group),
      lost: (key) => ({ direction: "to-server", pattern: key, place: "after" }),
    },
    {
      name: `postgres, group ${group}, an answer that never comes`,
      open: () => openPostgres(group),
      lost: (key) => ({ direction: "to-server", pattern: key, place: "after", how: "blackhole" }),
    },
  ]),
  {
    name: "mysql, connection cut",
    open: () => openMysql(),
    lost: () => ({ direction: "to-server", pattern: "attempts = attempts + 1", place: "after" }),
  },
  ...redis.drivers.map((driver): Subject => ({
    name: `redis by ${driver}, connection cut`,
    open: () => openRedis(driver),
    lost: () => ({ direction: "to-client", pattern: "granted lapsed", place: "before" }),
  })),
];

const operation = "payment.create";
const scope = { principal: "alice" };
const answer = { charged: "first" };

describe.each(subjects)("S2 lost reply of a takeover: $name", ({ open, lost }) => {
  async function world() {
    const opened = await open();
    const effects: string[] = [];
    const verified: string[] = [];
    const verify = ({ identity }: { identity: { key: string } }): VerifyAnswer => {
      verified.push(identity.key);
      return { verdict: "found", response: { status: 200, body: answer } };
    };
    const options = { scope: () => scope, onUnknown: { verify }, closeMs: 50 };
    const asked = (key: string) => ({ operation, scope, key, input: 1 });

    /** A process charges and is shut down before it can say so. */
    async function vanish(keys: readonly string[]): Promise<void> {
      const dying = createIchido({ store: opened.direct, ...options });
      const charged = keys.map(
        (key) =>
          new Promise<void>((resolve) => {
            const charge = (): Promise<never> => {
              effects.push(key);
              resolve();
              return new Promise(() => undefined);
            };
            dying.run(asked(key), charge).catch(() => undefined);
          }),
      );
      await Promise.all(charged);
      await dying.close();
    }

    /** Loses the reply to the first claim that is sent from now on, and to all that travel with it. */
    function losing(key: string): { store: Store; cuts: () => number } {
      let cut: ReturnType<FaultProxy["cut"]> | undefined;
      const claim: Store["claim"] = (request) => {
        cut ??= opened.proxy.cut(lost(key));
        return opened.store.claim(request);
      };
      return { store: { ...opened.store, claim }, cuts: () => cut?.count ?? 0 };
    }

    return { ...opened, effects, verified, verify, options, asked, vanish, losing };
  }

  it.each([1, 6])("the engine verifies each of %d at once, and runs none again", async (count) => {
    const { store: warm, effects, verified, options, asked, vanish, losing } = await world();
    const keys = Array.from({ length: count }, (_, index) => `taken-over-${index}`);
    await vanish(keys);
    await warm.ping();
    const { store, cuts } = losing(keys[0] ?? "");
    const ichido = createIchido({ store, ...options });
    const results = await Promise.all(
      keys.map((key) =>
        ichido.run(asked(key), () => {
          effects.push(key);
          return { charged: "second" };
        }),
      ),
    );
    // Claims that are sent one by one may meet it on more than one connection.
    expect(cuts()).toBeGreaterThanOrEqual(1);
    expect(results).toEqual(keys.map(() => ({ value: answer, replayed: true })));
    expect(effects.toSorted()).toEqual(keys.toSorted());
    expect(verified.toSorted()).toEqual(keys.toSorted());
    await ichido.close();
  });

  it("the reconciler asks what happened, and adopts it", async () => {
    const { store: warm, direct, effects, verified, verify, options, asked, vanish, losing } = await world();
    await vanish(["reconciled"]);
    await warm.ping();
    const { store, cuts } = losing("reconciled");
    const report = await createReconciler(store, { operations: { [operation]: { verify } }, olderThanMs: 0 }).tick();
    expect([cuts(), report.adopted]).toEqual([1, 1]);
    expect((await direct.stats()).completed).toBeGreaterThanOrEqual(1);
    const ichido = createIchido({ store: direct, ...options });
    const retry = await ichido.run(asked("reconciled"), () => effects.push("second"));
    expect(retry).toEqual({ value: answer, replayed: true });
    expect([effects, verified]).toEqual([["reconciled"], ["reconciled"]]);
    await ichido.close();
  });
});

const callTimeoutMs = 300;
const openers: readonly (readonly [string, () => Promise<Opened>])[] = [
  ["postgres, group true", () => openPostgres(true, callTimeoutMs)],
  ["postgres, group false", () => openPostgres(false, callTimeoutMs)],
  ["mysql", () => openMysql(callTimeoutMs)],
  ...redis.drivers.map((driver) => [`redis by ${driver}`, () => openRedis(driver, callTimeoutMs)] as const),
];

/** Nothing of this process gets a turn: what was sent is done by the server, and what it answers comes too late. */
function blockLoop(ms: number): void {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs);
}

/** Turns of the event loop, in which what was asked for gets on its way: how many it takes is up to the driver. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

describe.each(openers)("S2 a claim granted to a process that stood still: %s", (_name, open) => {
  it("is given back: under hold another process runs it, and no person is asked", async () => {
    const { direct, store } = await open();
    const options = { scope: () => scope, onUnknown: "hold", leaseMs: 60_000 } as const;
    const stalled = createIchido({ store, ...options });
    const other = createIchido({ store: direct, ...options });
    const request = { operation, scope, key: "stood-still", input: 1 };
    // The connections are there, so that a claim is sent at once.
    await stalled.run({ ...request, key: "warm" }, () => "warm");
    // Until the moment is met between the sending of a claim and its answer.
    for (let times = 1; ; times += 1) {
      const asking = { ...request, key: `${request.key}-${times}` };
      const ran: string[] = [];
      const asked = stalled.run(asking, () => ran.push("stalled")).catch((error: unknown) => error);
      await turns(1 + (times % 6));
      blockLoop(3 * callTimeoutMs);
      const failure = await asked;
      const run = ({ attempt }: { readonly attempt: number }): { attempt: number } => {
        ran.push("other");
        return { attempt };
      };
      const retry = await vi.waitFor(() => other.run(asking, run), { timeout: 30_000, interval: 200 });
      expect(ran).toHaveLength(1);
      // The second attempt: the first was granted, and nobody heard of it.
      if (retry.value.attempt !== 2) continue;
      expect(failure).toMatchObject({ code: "store-unavailable" });
      expect(ran).toEqual(["other"]);
      break;
    }
    await Promise.all([stalled.close(), other.close()]);
  });
});
