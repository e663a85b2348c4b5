import { afterEach, expect, test, vi } from "vitest";
import type { StoreStats } from "../core/contract/store.ts";
import { createSamples, growthOf } from "./samples.ts";

const stats: StoreStats = {
  records: 10,
  processing: 0,
  completed: 10,
  failed: 0,
  unknown: 0,
  bodyBytes: 1_000,
  sweepLagMs: 0,
  oldestUnknownMs: 0,
};

afterEach(() => void vi.useRealTimers());

const sampleAt = (minute: number, records: number) => ({
  ...stats,
  at: new Date(minute * 60_000).toISOString(),
  records,
  bodyBytes: records * 100,
});

test("growth is a line through the samples, and none before ten minutes of them", () => {
  const samples = Array.from({ length: 21 }, (_, minute) => sampleAt(minute, 1_000 + 5 * minute));
  expect(growthOf(samples)).toEqual({ recordsPerDay: 7_200, bodyBytesPerDay: 720_000, overMs: 1_200_000 });
  expect(growthOf(samples.slice(0, 10))).toBeUndefined();
  expect(growthOf([])).toBeUndefined();
  const even = Array.from({ length: 21 }, (_, minute) => sampleAt(minute, 7));
  expect(growthOf(even)?.recordsPerDay).toBe(0);
});

test("the store is asked once a minute, a day is kept, and several who look ask once", async () => {
  vi.useFakeTimers();
  let asked = 0;
  const samples = createSamples({
    stats: async () => {
      asked += 1;
      return stats;
    },
  });
  await Promise.all([samples.now(), samples.now()]);
  await samples.now();
  expect(asked).toBe(1);
  await vi.advanceTimersByTimeAsync(60 * 60_000);
  expect([asked > 55, asked < 65]).toEqual([true, true]);
  await vi.advanceTimersByTimeAsync(30 * 3_600_000);
  expect(samples.all).toHaveLength(1_440);
  samples.stop();
  const before = asked;
  await vi.advanceTimersByTimeAsync(600_000);
  expect(asked).toBe(before);
});

test("a store that takes long is asked rarely, and one that fails is told as a problem", async () => {
  vi.useFakeTimers();
  let asked = 0;
  const samples = createSamples({
    stats: async () => {
      asked += 1;
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      throw new Error("no key of a customer must be told: 4711");
    },
  });
  await vi.advanceTimersByTimeAsync(3_600_000);
  samples.stop();
  // Three seconds are a two-hundredth of ten minutes.
  expect(asked).toBeLessThanOrEqual(7);
  expect(samples.problem).toMatch(/the store failed/);
  expect(samples.problem).not.toContain("4711");
});
