/** One level held against the smallest one of its store, in turns of the same seconds. */
import { loadavg } from "node:os";
import type { Bytes, Place } from "./bed.ts";
import { nameOf, type Level } from "./level.ts";
import { checkLikeness } from "./likeness.ts";
import { sweepTimes, sweptCrowd, type SweepTimes, type SweptCrowd } from "./sweeps.ts";
import { alone, crowd, warm, type Sides } from "./turns.ts";

export interface Measured {
  readonly level: Level;
  readonly base: Level;
  readonly date: string;
  readonly version: string;
  readonly settings: string;
  readonly callers: number;
  readonly bytes: Sizes;
  /** Of the minute before, and at the end: what is above that of this run is somebody else's. */
  readonly load: readonly [number, number];
  readonly alone: Sides;
  readonly crowd: Sides;
  readonly sweep?: SweepTimes | undefined;
  readonly swept?: SweptCrowd | undefined;
}

export interface Sizes {
  readonly own: Bytes;
  readonly base: Bytes;
}

export interface Times {
  readonly seconds: number;
  readonly callers: number;
}

export async function measure(
  place: Place,
  level: Level,
  baseLevel: Level,
  bytes: Sizes,
  { seconds, callers }: Times,
  say: (line: string) => void,
): Promise<Measured> {
  const loadBefore = loadavg()[0] ?? 0;
  const pair = { base: await place.open(baseLevel), own: await place.open(level) };
  const name = nameOf(level);
  try {
    say(`${name}: warms up`);
    await checkLikeness(pair.own);
    await warm(pair, callers);
    say(`${name}: alone`);
    const single = await alone(pair, seconds);
    say(`${name}: ${callers} callers`);
    const many = await crowd(pair, callers, seconds);
    say(`${name}: sweeps`);
    const isExpired = level.shape === "expired";
    const sweep = isExpired ? undefined : await sweepTimes(pair);
    const swept = isExpired ? await sweptCrowd(pair, callers, seconds) : undefined;
    return {
      level,
      base: baseLevel,
      date: new Date().toISOString().slice(0, 16),
      version: place.version,
      settings: place.settings,
      callers,
      bytes,
      load: [loadBefore, loadavg()[0] ?? 0],
      alone: single,
      crowd: many,
      sweep,
      swept,
    };
  } finally {
    for (const bed of [pair.base, pair.own]) await bed.settle?.();
    for (const bed of [pair.base, pair.own]) await bed.close();
  }
}
