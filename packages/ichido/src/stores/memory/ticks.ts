import type { TickRequest } from "../../core/store.ts";

/** The one tick row of a store. */
export interface Ticks {
  readonly lastMs: number;
  readonly intervalMs: number;
  readonly steadySinceMs: number;
}

/** Ticks that may be missing before the clock is no longer trusted. */
const missingMax = 3;

export function ticked(ticks: Ticks | undefined, { intervalMs }: TickRequest, nowMs: number): Ticks {
  const sinceMs = ticks === undefined ? Number.POSITIVE_INFINITY : nowMs - ticks.lastMs;
  const even = sinceMs >= 0 && sinceMs <= missingMax * intervalMs;
  return { lastMs: nowMs, intervalMs, steadySinceMs: even && ticks !== undefined ? ticks.steadySinceMs : nowMs };
}

export function isTrusted(ticks: Ticks | undefined, nowMs: number): boolean {
  if (ticks === undefined) return false;
  const sinceMs = nowMs - ticks.lastMs;
  const spanMs = missingMax * ticks.intervalMs;
  return sinceMs >= 0 && sinceMs <= spanMs && nowMs - ticks.steadySinceMs >= spanMs;
}
