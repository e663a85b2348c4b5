/** A long storm and its end, over the controls: what was bought is counted whole, and the rate of keys was measured. */
import { beforeAll, describe, expect, it } from "vitest";
import { call } from "../playground-faults/drive.ts";
import type { StorageView } from "../src/playground/storage.ts";
import type { StormView } from "../src/playground/storm-view.ts";
import { until } from "./support/poll.ts";
import { newFolder } from "./support/program.ts";
import { startShop, type Shop } from "./support/shop.ts";

const mix = { kill: 0, cutAfterAnswer: 10, cutBeforeArrival: 0, doubleClick: 20 };
const order = { payments: 5_000, concurrency: 8, seed: 7, mix };

describe("a storm", () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await startShop({ SHOP_DATA: newFolder() });
    await call(shop.url, "start", {});
  });
  const view = (): Promise<StormView> => call<StormView>(shop.url, "storm");
  const storage = (query = "days=30"): Promise<StorageView> => call<StorageView>(shop.url, `storage?${query}`);
  const ended = (): Promise<StormView> =>
    until(
      "the storm is over",
      async () => {
        const now = await view();
        return now.state === "running" || now.state === "stopping" ? undefined : now;
      },
      60_000,
      100,
    );

  it("of more than 5,000 payments is refused", async () => {
    await expect(call(shop.url, "storm", { ...order, payments: 5_001 })).rejects.toThrow(/400.*from 1 to 5000/);
  });

  it("that does not run cannot be stopped, and nothing was measured of it", async () => {
    await expect(call(shop.url, "storm/stop", {})).rejects.toThrow(/400.*no storm is running/);
    const { rates, forecasts } = await storage("days=30&perDay=1000");
    expect(rates).toEqual({ run: { keys: 0, tookMs: expect.any(Number) } });
    expect(forecasts).toEqual({});
  });

  it("of 5,000 payments is stopped by the page alone: those on their way end, and all that were bought are counted", async () => {
    await call(shop.url, "storm", order);
    const notCharged = new Set<number>();
    const running = await until("some have bought", async () => {
      const now = await view();
      notCharged.add(now.lanes.unprotected?.chargedNever ?? 0);
      return now.progress.bought > 200 && now;
    });
    // Who has bought was charged: the ledger of a view is never older than its buyers.
    expect([...notCharged]).toEqual([0]);
    expect(running).toMatchObject({ state: "running", lane: "unprotected", progress: { of: 10_000 } });
    const foreign = { "content-type": "application/json", origin: "http://evil.example" };
    const stop = `${shop.url}/playground/api/storm/stop`;
    expect((await fetch(stop, { method: "POST", headers: foreign, body: "{}" })).status).toBe(403);
    expect((await view()).state).toBe("running");
    await call(shop.url, "storm/stop", {});
    const { state, progress, lanes } = await ended();
    expect(state).toBe("stopped");
    expect(progress.bought).toBeLessThan(5_000);
    const { bought = 0, chargedOnce = 0, chargedMore = 0, untold } = lanes.unprotected ?? {};
    expect([bought, untold]).toEqual([progress.bought, 0]);
    expect(chargedOnce + chargedMore).toBe(bought);
    expect(lanes).not.toHaveProperty("protected");
    // The lane whose keys are counted had no turn.
    expect((await storage()).rates).not.toHaveProperty("storm");
  });

  it("tells at which rate keys came, and what they would take at it", async () => {
    await call(shop.url, "storm", { ...order, payments: 40 });
    const { state, progress } = await ended();
    expect([state, progress.bought]).toEqual(["done", 80]);
    const { rates, forecasts, bytesPerKey = 0, retention } = await storage("days=7&perDay=1000");
    expect(retention).toBe(7);
    expect(rates.storm?.keys).toBe(40);
    expect(rates.storm?.tookMs).toBeLessThan(progress.tookMs);
    expect(rates.run.tookMs).toBeGreaterThan(rates.storm?.tookMs ?? 0);
    const perDay = Math.round((40 * 86_400_000) / (rates.storm?.tookMs ?? 1));
    expect(forecasts.storm).toEqual({ keysPerDay: perDay, bytes: perDay * 7 * bytesPerKey });
    expect(bytesPerKey).toBeGreaterThan(0);
    expect(forecasts.asked).toEqual({ keysPerDay: 1_000, bytes: 7_000 * bytesPerKey });
    // A storm that has not come to the protected lane yet leaves the measure of the one before.
    await call(shop.url, "storm", order);
    expect((await storage()).rates.storm).toEqual(rates.storm);
    await call(shop.url, "storm/stop", {});
    await ended();
  });
});
