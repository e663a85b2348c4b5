/** What it costs to sweep a level, and what a sweep costs the callers of a level. */
import { setTimeout as sleep } from "node:timers/promises";
import { median } from "../measure.ts";
import type { Bed } from "./bed.ts";
import { crowd, type Pair, type Sides } from "./turns.ts";

const tickMs = 500;
/** Beyond every level's own numbers. */
const firstNumber = 1_000_000_000;
export const sweptRows = 1_000;
/** So many, but no further one after a while: a store that walks over all records may need minutes for one. */
const roundsMax = 3;
const roundsMs = 20_000;
const trustMsMax = 30_000;

/** Ticks until told to stop: nothing expires while the store's clock is not seen to run evenly. */
async function ticking(beds: readonly Bed[]): Promise<() => void> {
  const tick = (): Promise<readonly { readonly trusted: boolean }[]> =>
    Promise.all(beds.map(({ store }) => store.tick({ intervalMs: tickMs })));
  const timer = setInterval(() => void tick(), tickMs * 0.8);
  const endMs = Date.now() + trustMsMax;
  while (!(await tick()).every(({ trusted }) => trusted)) {
    if (Date.now() > endMs) throw new Error(`the clock is not trusted after ${trustMsMax} ms`);
    await sleep(tickMs * 0.8);
  }
  return () => clearInterval(timer);
}

async function sweepUntil({ store }: Bed, isOver: () => boolean): Promise<{ deleted: number; more: boolean }> {
  let deleted = 0;
  for (;;) {
    const result = await store.sweep({ limit: 1_000, budgetMs: 250 });
    deleted += result.deleted;
    // A tick that came late: the next one is on its way.
    if (result.guarded) await sleep(tickMs / 5);
    else if (!result.more) return { deleted, more: false };
    if (isOver()) return { deleted, more: true };
  }
}

export interface SweepTimes {
  readonly baseMs: number;
  readonly ownMs: number;
}

/** A thousand expired records are added to each level and swept, in turns. */
export async function sweepTimes({ base, own }: Pair): Promise<SweepTimes> {
  const stop = await ticking([base, own]);
  const ms = { base: [] as number[], own: [] as number[] };
  try {
    const endMs = performance.now() + roundsMs;
    for (let round = 0; round < roundsMax && (round === 0 || performance.now() < endMs); round += 1) {
      for (const [bed, into] of [
        [base, ms.base],
        [own, ms.own],
      ] as const) {
        await bed.add(firstNumber, firstNumber + sweptRows - 1, true);
        const startMs = performance.now();
        const { deleted } = await sweepUntil(bed, () => false);
        into.push(performance.now() - startMs);
        if (deleted < sweptRows) throw new Error(`only ${deleted} of ${sweptRows} expired records were swept`);
      }
    }
  } finally {
    stop();
  }
  return { baseMs: median(ms.base), ownMs: median(ms.own) };
}

export interface SweptCrowd {
  readonly sides: Sides;
  readonly rowsPerSecond: number;
}

/** Callers of a level of which half is expired, while a sweeper works on it without a pause. */
export async function sweptCrowd(pair: Pair, callers: number, seconds: number): Promise<SweptCrowd> {
  const stop = await ticking([pair.own]);
  let [rows, sweptMs] = [0, 0];
  try {
    const sides = await crowd(pair, callers, seconds, async (isOver) => {
      const startMs = performance.now();
      const { deleted, more } = await sweepUntil(pair.own, isOver);
      rows += deleted;
      sweptMs += performance.now() - startMs;
      return more;
    });
    return { sides, rowsPerSecond: (rows * 1_000) / sweptMs };
  } finally {
    stop();
  }
}
