import { expect, it } from "vitest";
import { Durations } from "./durations.ts";

function of(...figures: readonly (readonly [count: number, durationMs: number])[]): Durations {
  const durations = new Durations();
  for (const [count, durationMs] of figures) for (let at = 0; at < count; at += 1) durations.add(durationMs);
  return durations;
}

it("nothing was measured: all figures are 0", () => {
  expect(of().figures()).toEqual({ count: 0, p50Ms: 0, p99Ms: 0, maxMs: 0 });
});

it("figures are the upper edge of their bucket, an eighth of a doubling, and never more than the longest", () => {
  const durations = of([98, 10], [1, 1_000], [1, 5_000]);
  expect(durations.count).toBe(100);
  expect(durations.figures()).toEqual({ count: 100, p50Ms: 10, p99Ms: 1_024, maxMs: 5_000 });
  expect(of([99, 10], [1, 5_000]).figures()).toEqual({ count: 100, p50Ms: 10, p99Ms: 10, maxMs: 5_000 });
  expect(of([98, 10], [2, 1_000]).figures().p99Ms).toBe(1_000);
  expect(of([1, 100]).figures()).toEqual({ count: 1, p50Ms: 100, p99Ms: 100, maxMs: 100 });
  // 2 ** (52 / 8) = 90.5 is below it, 2 ** (53 / 8) = 98.7 is not.
  expect(of([1, 91], [1, 1_000]).figures().p50Ms).toBe(99);
});

it("they come in order, whatever order they were measured in, and half of an odd number is rounded up", () => {
  expect(of([1, 64], [1, 1], [1, 8]).figures()).toEqual({ count: 3, p50Ms: 8, p99Ms: 64, maxMs: 64 });
  expect(of([1, 64], [1, 8]).figures().p50Ms).toBe(8);
});

it("less than a millisecond counts as one beside longer ones, and what takes longer than days as days", () => {
  expect(of([1, 0.2], [1, 3]).figures()).toEqual({ count: 2, p50Ms: 1, p99Ms: 3, maxMs: 3 });
  expect(of([1, -5]).figures()).toEqual({ count: 1, p50Ms: 0, p99Ms: 0, maxMs: 0 });
  expect(of([1, 2 ** 40], [1, 2 ** 41]).figures()).toEqual({
    count: 2,
    p50Ms: 2 ** 28,
    p99Ms: 2 ** 28,
    maxMs: 2 ** 41,
  });
});
