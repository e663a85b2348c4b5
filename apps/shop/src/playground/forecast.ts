/** What keys would take at a rate that was measured here. Where nothing was measured there is no number. */
import type { GrowthSample } from "./contract.ts";

/** Keys that came, and in which time: both as the database of the protected lane was asked. */
export interface Grown {
  readonly keys: number;
  readonly tookMs: number;
}

export interface Forecast {
  readonly keysPerDay: number;
  readonly bytes: number;
}

const DAY_MS = 86_400_000;

/** Below it the pages of an empty file outweigh what was written, and a rate is chance. */
export const KEYS_MIN = 20;

/** A rate that somebody may ask about: a table of some billions in a year. */
export const KEYS_PER_DAY_MAX = 10_000_000;

export function grownBetween(first: GrowthSample, last: GrowthSample): Grown {
  return { keys: last.keys - first.keys, tookMs: last.atMs - first.atMs };
}

export function forecastOf(
  grown: Grown | undefined,
  bytesPerKey: number | undefined,
  days: number,
): Forecast | undefined {
  if (grown === undefined || bytesPerKey === undefined) return undefined;
  if (grown.keys < KEYS_MIN || grown.tookMs <= 0) return undefined;
  const keysPerDay = Math.round((grown.keys * DAY_MS) / grown.tookMs);
  return { keysPerDay, bytes: keysPerDay * days * bytesPerKey };
}
