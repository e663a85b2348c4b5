/** Rows and bytes of the lanes over time, as their databases counted them. Between two samples nobody counted. */
import { lanes, type GrowthSample, type LaneName } from "./contract.ts";
import type { PlaygroundData } from "./data.ts";

export interface Growth {
  readonly samples: readonly GrowthSample[];
  sample(): Promise<GrowthSample>;
}

export const SAMPLES_MAX = 600;
export const COUNT_PAYMENTS = "SELECT count(*) AS total FROM payments";
export const COUNT_KEYS = "SELECT count(*) AS total FROM ichido_records";

export function createGrowth(data: PlaygroundData): Growth {
  const samples: GrowthSample[] = [];
  return {
    samples,
    async sample() {
      const counted = lanes.map(async (lane) => {
        const [payments, bytes] = await Promise.all([data.count(lane, COUNT_PAYMENTS), data.bytes(lane)]);
        return [lane, { payments, bytes }] as const;
      });
      const keys = await data.count("protected", COUNT_KEYS);
      const byLane = Object.fromEntries(await Promise.all(counted)) as Record<
        LaneName,
        GrowthSample["lanes"][LaneName]
      >;
      const now: GrowthSample = { atMs: Date.now(), keys, lanes: byLane };
      // A time in which nothing changed has two ends, and no need of what lies between.
      const [before, last] = samples.slice(-2);
      if (before !== undefined && last !== undefined && isSame(before, last) && isSame(last, now)) samples.pop();
      samples.push(now);
      // Every second one goes, never the first: the story stays whole, and a rate since the start can be told.
      if (samples.length > SAMPLES_MAX) samples.splice(0, samples.length, ...samples.filter((_, at) => at % 2 === 0));
      return now;
    },
  };
}

function isSame(one: GrowthSample, other: GrowthSample): boolean {
  const numbers = ({ keys, lanes: all }: GrowthSample): string => JSON.stringify([keys, all]);
  return numbers(one) === numbers(other);
}
