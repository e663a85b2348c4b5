import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { freshDatabase, postgresUrl, servicesRequired } from "../../../test/support/services.ts";
import { call } from "../playground-faults/drive.ts";
import { limitNames, type StateView, type SweepView } from "../src/playground/contract.ts";
import type { LimitView } from "../src/playground/limits.ts";
import type { StorageView } from "../src/playground/storage.ts";
import type { StormView } from "../src/playground/storm-view.ts";
import { until } from "./support/poll.ts";
import { findRedis } from "../src/playground/redis/private-redis.ts";
import { newFolder } from "./support/program.ts";
import { startShop, type Shop } from "./support/shop.ts";

/** Tests install what they need; where that is forbidden, the limit is greyed, and so is its test. */
const isGreyed = findRedis() === undefined && !servicesRequired();
const here = limitNames.filter((limit) => limit !== "redis-evicts" || !isGreyed);

describe("where the protected lane would charge twice", () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await startShop({ SHOP_DATA: newFolder() });
    await call(shop.url, "start", {});
  });

  it("a limit that needs a redis-server is refused with the reason where there is none", async () => {
    const without = await startShop({ SHOP_DATA: newFolder(), PATH: newFolder() });
    const { limits } = await call<StateView>(without.url, "state");
    expect(limits.filter(({ unavailable }) => unavailable !== undefined).map(({ limit }) => limit)).toEqual([
      "redis-evicts",
    ]);
    await expect(call(without.url, "limits", { limit: "redis-evicts" })).rejects.toThrow(/400.*no redis-server/);
  });

  it.each(here)("%s: two charges, and one with the setting that mends it", async (limit) => {
    const { broken, mended } = await call<LimitView>(shop.url, "limits", { limit });
    expect([broken.charges.length, mended.charges.length]).toEqual([2, 1]);
  });

  it.skipIf(isGreyed)("a Redis that evicts counts what it dropped, and doctor warns (needs redis-server)", async () => {
    const { broken, mended } = await call<LimitView>(shop.url, "limits", { limit: "redis-evicts" });
    expect(broken.redis?.evicted).toBeGreaterThan(0);
    expect(broken.redis?.doctor.join()).toMatch(/^error eviction: maxmemory-policy is allkeys-lru.*noeviction/);
    expect(broken.told).toBe("201");
    expect(mended.redis).toEqual({ evicted: 0, doctor: [] });
    expect(mended.told).toMatch(/201 replayed$/);
  });

  it("a storm with one seed: the unprotected lane charges more than once, the other one once each", async () => {
    const order = {
      payments: 20,
      concurrency: 5,
      seed: 7,
      bankMode: "dedupes",
      mix: { kill: 0, cutAfterAnswer: 30, cutBeforeArrival: 10, doubleClick: 30, databaseDrop: 0 },
    };
    await call(shop.url, "storm", order);
    const view = await until("the storm is over", async () => {
      const now = await call<StormView>(shop.url, "storm");
      return now.state === "running" ? undefined : now;
    });
    expect(view).toMatchObject({ state: "done", order });
    expect(view.lanes.unprotected?.chargedMore).toBeGreaterThan(0);
    expect(view.lanes.protected).toMatchObject({ chargedOnce: 20, chargedMore: 0, untold: 0, zeroBoundPercent: 15 });
    // Of this lane, too: none of its payments was left without a charge, which twenty of them cannot prove.
    expect(view.lanes.unprotected).toMatchObject({ chargedNever: 0, zeroBoundPercent: 15 });
    expect(view.lanes.unprotected).not.toHaveProperty("databaseDrops");
    const { growth, keys } = await call<StorageView>(shop.url, "storage?days=30");
    expect(growth.length).toBeGreaterThan(2);
    expect([growth[0]?.keys, growth.at(-1)?.keys]).toEqual([0, keys]);
  });

  it("a storm that ends connections of a database is refused where there is a file, with the reason", async () => {
    const mix = { kill: 0, cutAfterAnswer: 0, cutBeforeArrival: 0, doubleClick: 0, databaseDrop: 10 };
    const order = { payments: 5, concurrency: 1, seed: 7, mix };
    await expect(call(shop.url, "storm", order)).rejects.toThrow(/400.*SQLite is a file.*PLAYGROUND_DATABASE_URL/);
  });

  it("a storm on a PostgreSQL ends connections after charges: one charge each in the protected lane", async () => {
    const database = await freshDatabase(await postgresUrl());
    onTestFinished(() => database.drop());
    const onServer = await startShop({ SHOP_DATA: newFolder(), PLAYGROUND_DATABASE_URL: database.url });
    const mix = { kill: 0, cutAfterAnswer: 0, cutBeforeArrival: 0, doubleClick: 0, databaseDrop: 60 };
    await call(onServer.url, "storm", { payments: 12, concurrency: 4, seed: 7, mix });
    const over = async () => {
      const now = await call<StormView>(onServer.url, "storm");
      return now.state === "running" ? undefined : now;
    };
    const { lanes: told, state } = await until("the storm is over", over, 120_000);
    expect(state).toBe("done");
    expect(told.unprotected?.databaseDrops).toBeGreaterThan(0);
    expect(told.unprotected?.chargedMore).toBeGreaterThan(0);
    expect(told.protected).toMatchObject({ chargedOnce: 12, chargedMore: 0, untold: 0 });
    expect(told.protected?.databaseDrops).toBeGreaterThan(0);
    expect(told.protected?.leftOpen).toBe(told.protected?.resolved);
    expect(told.protected?.resolved).toBeGreaterThan(0);
    onServer.kill("SIGTERM");
    expect(await onServer.exited).toEqual({ code: 0, signal: null });
  }, 180_000);

  it("a sweep takes the keys whose retention is over, and what they took is written anew", async () => {
    const { samples, deleted, payments, sweptUntilMs } = await call<SweepView>(shop.url, "sweep", {});
    expect(deleted).toBe(payments);
    const most = Math.max(...samples.map(({ keys }) => keys));
    const swept = samples.find(({ atMs }) => atMs === sweptUntilMs);
    expect([most, swept?.keys, samples.at(-1)?.keys]).toEqual([payments, 0, payments]);
    expect(swept?.bytesInUse).toBeLessThan(Number(swept?.bytes));
    expect(samples.at(-1)?.bytesInUse).toBeGreaterThan(Number(swept?.bytesInUse));
  });
});
