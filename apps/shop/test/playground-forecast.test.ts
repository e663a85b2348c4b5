import { describe, expect, it } from "vitest";
import { forecastOf, KEYS_MIN } from "../src/playground/forecast.ts";

describe("a forecast", () => {
  const MINUTE_MS = 60_000;

  it("is the measured rate, times the retention, times the bytes of a key", () => {
    // A hundred a minute: 144,000 a day.
    expect(forecastOf({ keys: 100, tookMs: MINUTE_MS }, 1_000, 30)).toEqual({
      keysPerDay: 144_000,
      bytes: 144_000 * 30 * 1_000,
    });
  });

  it("is not there where nothing, or too little, was measured", () => {
    expect(forecastOf(undefined, 1_000, 30)).toBeUndefined();
    expect(forecastOf({ keys: 100, tookMs: MINUTE_MS }, undefined, 30)).toBeUndefined();
    expect(forecastOf({ keys: KEYS_MIN - 1, tookMs: MINUTE_MS }, 1_000, 30)).toBeUndefined();
    expect(forecastOf({ keys: 100, tookMs: 0 }, 1_000, 30)).toBeUndefined();
  });
});
