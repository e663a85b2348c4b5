/** Whether the store's clock has run evenly: nothing expires by a clock that jumped. */
import { tickGapIntervals } from "./bounds.ts";

/** The one tick row of a store. */
export interface TickRow {
  readonly lastUs: number;
  readonly intervalUs: number;
  readonly steadySinceUs: number;
}

/** A tick that comes late, or before the last one, starts the count anew. */
export function nextTick(tick: TickRow | undefined, nowUs: number, intervalUs: number): TickRow {
  const even = tick !== undefined && nowUs >= tick.lastUs && nowUs - tick.lastUs <= tickGapIntervals * intervalUs;
  return { lastUs: nowUs, intervalUs, steadySinceUs: even ? tick.steadySinceUs : nowUs };
}

/** The last tick as the other rules take it, where the moment may have been read up to `waitUs` before it. */
export function tickSeen(lastUs: number, nowUs: number, waitUs: number): number {
  return lastUs - nowUs <= waitUs ? Math.min(lastUs, nowUs) : lastUs;
}

export function isTrusted(tick: TickRow | undefined, nowUs: number): boolean {
  if (tick === undefined) return false;
  const gapUs = tickGapIntervals * tick.intervalUs;
  return nowUs >= tick.lastUs && nowUs - tick.lastUs <= gapUs && nowUs - tick.steadySinceUs >= gapUs;
}
