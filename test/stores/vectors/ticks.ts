/** Ticks of a clock that ran evenly up to this moment, to the microsecond, and of those that did not. */
import type { TickRow } from "../../../packages/ichido/src/core/record-machine/ticks.ts";
import { nowUs } from "./cases.ts";

export const minuteUs = 60_000_000;
const gapUs = 3 * minuteUs;

/** Trusted at both bounds at once; the others are a microsecond beyond one of them, or ahead of the clock. */
export const trustedTick: TickRow = { lastUs: nowUs - gapUs, intervalUs: minuteUs, steadySinceUs: nowUs - gapUs };

export interface TickCase {
  readonly title: string;
  readonly tick: TickRow | undefined;
  readonly trusted: boolean;
  /** Of the moment itself: few records are enough. */
  readonly isBound: boolean;
}

export function ticksSeen(patienceUs = 0): readonly TickCase[] {
  const at = (parts: Partial<TickRow>): TickRow => ({ ...trustedTick, ...parts });
  const uneven: Readonly<Record<string, TickRow | undefined>> = {
    "no tick": undefined,
    "a tick too long ago": at({ lastUs: nowUs - gapUs - 1 }),
    "a clock steady too short a time": at({ lastUs: nowUs - minuteUs, steadySinceUs: nowUs - gapUs + 1 }),
    "a clock that went back": at({ lastUs: nowUs + 2_000_000 }),
  };
  const ahead = at({ lastUs: nowUs + patienceUs + 1 });
  return [
    ...Object.entries(uneven).map(([title, tick]) => ({ title, tick, trusted: false, isBound: false })),
    { title: "a clock that went back by a microsecond", tick: ahead, trusted: false, isBound: true },
    { title: "a tick at this very moment", tick: at({ lastUs: nowUs + patienceUs }), trusted: true, isBound: true },
    { title: "even ticks", tick: trustedTick, trusted: true, isBound: false },
  ];
}
