/** A Redis that forgets everything, again and again, with and without a marker in the business database. */
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { redisStore, sqlMarker } from "ichido/redis";
import type { RedisStore } from "ichido/redis";
import { sampleFingerprint, sampleResponse } from "ichido/testing";
import { pgTransactions } from "ichido/transactions";
import { afterEach, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { describeWith, freshDatabase, postgresUrl, startRedis } from "../support/services.ts";
import { openClient } from "../stores/redis-clients.ts";
import type { OpenClient } from "../stores/redis-clients.ts";
import { request } from "../stores/redis-load.ts";
import { kinds, openBusiness } from "../stores/redis-markers.ts";
import type { Business } from "../stores/redis-markers.ts";

// Longer than a busy machine may keep one of these waiting: an owner that is overtaken would be no fault of the marker.
const leaseMs = 10_000;

describeWith(["redis", "postgres", "mariadb"], "redis store that forgets", () => {
  const endings: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const end of endings.splice(0).toReversed()) await end();
  });

  async function open(kind: (typeof kinds)[number]): Promise<{ client: OpenClient; business: Business }> {
    const server = await startRedis();
    endings.push(() => server.stop());
    const client = await openClient("ioredis", server.url);
    endings.push(() => client.end());
    const business = await openBusiness(kind);
    endings.push(() => business.close());
    return { client, business };
  }

  /** Asks until there is an answer, as clients do; runs the effect whenever the store says so, renewing meanwhile. */
  async function insist(store: RedisStore, business: Business, key: string, untilMs: number): Promise<string> {
    while (performance.now() < untilMs) {
      const asked = request(key, { leaseMs });
      const claim = await store.claim(asked);
      if (claim.outcome === "completed") return Buffer.from(claim.response.body).toString();
      if (claim.outcome === "granted") {
        const held = { ...asked, fence: claim.fence };
        await sleep(20);
        await business.effect(key);
        await sleep(20);
        await store.renew([{ ...held, leaseMs }]);
        await store.complete({ ...held, response: sampleResponse({ body: `answer of ${key}` }) });
      } else await sleep(15);
    }
    return "no answer in time";
  }

  async function flushed(client: OpenClient, business: Business, store: RedisStore, keys: number): Promise<number> {
    let flushes = 0;
    let over = false;
    const flushing = (async () => {
      while (!over) {
        await sleep(40 + Math.random() * 80);
        await client.send("FLUSHALL");
        flushes += 1;
      }
    })();
    const untilMs = performance.now() + 60_000;
    const names = Array.from({ length: keys }, (_, index) => `key-${index}`);
    const answers = await Promise.all(
      names.flatMap((key, index) => [
        insist(store, business, key, untilMs),
        sleep(30 + 10 * (index % 20)).then(() => insist(store, business, key, untilMs)),
        sleep(150).then(() => insist(store, business, key, untilMs)),
      ]),
    );
    // However quick the load was, it has met several flushes, and every key still has its answer afterwards.
    await eventually(() => expect(flushes).toBeGreaterThan(2));
    answers.push(
      ...(await Promise.all(names.flatMap((key) => [1, 2, 3].map(() => insist(store, business, key, untilMs))))),
    );
    over = true;
    await flushing;
    for (const [index, answer] of answers.entries())
      expect(answer).toBe(`answer of ${names[Math.floor(index / 3) % keys]}`);
    return flushes;
  }

  for (const kind of kinds) {
    test(`S7 ${kind}: with the marker no key takes effect twice, however often Redis is flushed under load`, async () => {
      const { client, business } = await open(kind);
      const store = redisStore(client.client, { marker: business.marker });
      const flushes = await flushed(client, business, store, 60);
      expect(flushes).toBeGreaterThan(2);
      expect(await business.doubles()).toEqual([]);
      expect(await business.effects()).toBe(60);
    }, 120_000);

    test(`S7 ${kind}: after a flush answers, mismatches, holds, steps and living owners are as before`, async () => {
      const { client, business } = await open(kind);
      const store = redisStore(client.client, { marker: business.marker });
      const grant = async (key: string, more: Parameters<typeof request>[1] = {}) => {
        const asked = request(key, { leaseMs: 200, labels: { order: key }, ...more });
        const claim = await store.claim(asked);
        return { ...asked, fence: claim.outcome === "granted" ? claim.fence : expect.fail(claim.outcome) };
      };
      const body = Uint8Array.from({ length: 256 }, (_, byte) => byte);
      const done = await grant("done");
      const response = sampleResponse({
        body,
        headers: [
          ["x-twice", "1"],
          ["x-twice", "2"],
        ],
      });
      expect(await store.complete({ ...done, response })).toBe("ok");
      const before = await store.claim(request("done"));
      const held = await grant("held");
      expect(await store.suspend({ ...held, interim: sampleResponse({ status: 202 }), holdReason: "ask \0 é" })).toBe(
        "ok",
      );
      const stepped = await grant("stepped");
      expect(await store.startStep({ ...stepped, name: "charge", leaseMs: 200 })).toBe("ok");
      const living = await grant("living", { leaseMs: 30_000 });
      const released = await grant("released");
      expect(await store.release(released)).toBe("ok");

      await client.send("FLUSHALL");

      expect(await store.claim(request("done", { fingerprint: sampleFingerprint("other") }))).toEqual({
        outcome: "mismatch",
      });
      const after = await store.claim(request("done"));
      expect(after).toMatchObject({ outcome: "completed", fence: done.fence, attempts: 1 });
      if (after.outcome === "completed" && before.outcome === "completed") {
        expect(after.response).toEqual(before.response);
        expect(Math.abs(after.expiresAtMs - before.expiresAtMs)).toBeLessThan(2_000);
      }
      expect((await store.find(done.identity))?.labels).toEqual({ order: "done" });
      expect(await store.claim(request("held"))).toMatchObject({
        outcome: "unknown",
        holdReason: "ask \0 é",
        interim: { status: 202 },
        fence: held.fence,
      });
      // First in flight, for an owner that may still be at work; taken over when no sign of life came.
      expect((await store.claim(request("stepped", { leaseMs: 200 }))).outcome).toBe("processing");
      const next = await eventually(async () => {
        const claim = await store.claim(request("stepped"));
        return claim.outcome === "granted" ? claim : expect.fail(claim.outcome);
      });
      expect(next).toMatchObject({ origin: "lapsed", attempt: 2, stepsStarted: 1 });
      expect(await store.complete({ ...stepped, response })).toBe("stale");
      expect(await store.renew([{ ...living, leaseMs: 30_000 }])).toEqual(["ok"]);
      expect((await store.claim(request("living"))).outcome).toBe("processing");
      await client.send("FLUSHALL");
      expect(await store.complete({ ...living, response })).toBe("ok");
      expect((await store.claim(request("living"))).outcome).toBe("completed");
      expect(await store.claim(request("released"))).toMatchObject({ outcome: "granted", origin: "new" });
    }, 60_000);
  }

  test("S7 without the marker the same load takes effect twice: the control", async () => {
    const { client, business } = await open("sqlite");
    const store = redisStore(client.client);
    await flushed(client, business, store, 60);
    const twice = await business.doubles();
    console.log(`without a marker: ${twice.length} of 60 keys took effect more than once`);
    expect(twice.length).toBeGreaterThan(0);
  }, 120_000);

  test("S7 an answer on the caller's transaction commits with the business writes, or not at all", async () => {
    const fresh = await freshDatabase(await postgresUrl());
    endings.push(() => fresh.drop());
    const pool = new pg.Pool({ connectionString: fresh.url });
    pool.on("error", () => {});
    endings.push(() => pool.end());
    const server = await startRedis();
    endings.push(() => server.stop());
    const client = await openClient("ioredis", server.url);
    endings.push(() => client.end());
    const marker = sqlMarker({
      dialect: "postgres",
      async execute(sql, values) {
        const { rows, rowCount } = await pool.query<Record<string, unknown>>(sql, [...values]);
        return { rows, affected: rowCount ?? 0 };
      },
    });
    await marker.migrate();
    await pool.query("create table ledger (name text not null)");
    const store = redisStore(client.client, { marker });
    expect(store.capabilities.transactions).toBe("postgres");
    const response = sampleResponse({ body: "paid" });
    const run = async (key: string, fails: boolean): Promise<ReturnType<typeof request> & { fence: number }> => {
      const asked = request(key);
      const claim = await store.claim(asked);
      const held = { ...asked, fence: claim.outcome === "granted" ? claim.fence : expect.fail(claim.outcome) };
      const work = pgTransactions(pool).run(async (tx, handle) => {
        await tx.query("insert into ledger (name) values ($1)", [key]);
        expect(await store.complete({ ...held, response }, handle)).toBe("ok");
        if (fails) throw new Error("rolled back");
      });
      if (fails) await expect(work).rejects.toThrow("rolled back");
      else await work;
      return held;
    };
    const paid = await run("paid", false);
    await eventually(async () => expect((await store.find(paid.identity))?.state).toBe("completed"));

    const undone = await run("undone", true);
    expect((await store.claim({ ...undone })).outcome, "still its owner's").toBe("granted");
    const again = await store.complete({ ...undone, response });
    expect(again).toBe("ok");

    const early = await run("early", false);
    await client.send("FLUSHALL");
    const own = await store.claim({ ...early });
    expect(own).toMatchObject({ outcome: "completed", fence: early.fence });
    const { rows } = await pool.query("select name from ledger order by name");
    expect(rows).toEqual([{ name: "early" }, { name: "paid" }]);
  }, 60_000);
});
