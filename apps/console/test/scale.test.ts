import { describe, expect, test } from "vitest";
import { scaleOf } from "../src/parts/scale.ts";

const moment = (ms: number): { fromMs: number; untilMs: number } => ({ fromMs: ms, untilMs: ms });

describe("a scale of time", () => {
  test("is true: equal times have equal lengths", () => {
    const { place, cuts } = scaleOf([moment(0), moment(250), moment(500), moment(1_000)]);
    expect(cuts).toEqual([]);
    expect(place(500) - place(250)).toBeCloseTo(place(250) - place(0));
    expect(place(1_000) - place(500)).toBeCloseTo(place(500) - place(0));
  });

  test("cuts out hours in which nothing happened, and says how long they were", () => {
    const hourMs = 3_600_000;
    const { place, cuts } = scaleOf([{ fromMs: 0, untilMs: 1_100 }, moment(2_000), moment(3 * hourMs)]);
    expect(cuts.map(({ fromMs, untilMs }) => [fromMs, untilMs])).toEqual([[2_000, 3 * hourMs]]);
    expect(place(1_100) - place(0)).toBeGreaterThan(30);
    expect(place(3 * hourMs)).toBeGreaterThan(place(2_000));
  });

  test("keeps everything in order and inside, whatever happened", () => {
    for (let seed = 1; seed <= 200; seed += 1) {
      let state = seed;
      const next = (): number => (state = (state * 48_271) % 2_147_483_647);
      const spans = Array.from({ length: 1 + (next() % 12) }, () => {
        const fromMs = next() % 10 ** (1 + (next() % 8));
        return { fromMs, untilMs: fromMs + (next() % 3_000) };
      });
      const { place, ticks } = scaleOf(spans);
      const times = spans.flatMap(({ fromMs, untilMs }) => [fromMs, untilMs]).toSorted((one, other) => one - other);
      const places = times.map(place);
      expect(places, `seed ${seed}`).toEqual(places.toSorted((one, other) => one - other));
      expect(Math.min(...places), `seed ${seed}`).toBeGreaterThanOrEqual(0);
      expect(Math.max(...places), `seed ${seed}`).toBeLessThanOrEqual(100);
      expect(ticks.length, `seed ${seed}`).toBeLessThan(12);
    }
  });

  test("has a place for a single moment", () => {
    expect(scaleOf([moment(5)]).place(5)).toBeLessThan(10);
    expect(scaleOf([]).place(0)).toBeLessThan(10);
  });
});
