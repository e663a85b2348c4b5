/**
 * What the store counts, asked for once a minute and kept for a day in this process: enough for plots without a metrics
 * server. A store that takes long is asked rarely, so that counting costs it next to nothing.
 */
import type { Store } from "../core/contract/store.ts";
import type { StorageAnswer, StorageSample } from "./contract.ts";
import { storeProblem } from "./gate.ts";

const everyMs = 60_000;
const firstMs = 5_000;
const samplesMax = 1_440;
/** Counting may take this part of the time. */
const share = 1 / 200;
const growthMsMin = 600_000;
const dayMs = 86_400_000;

export interface Samples {
  /** A count that is no older than a minute, where the store gives one. */
  now(): Promise<void>;
  readonly all: readonly StorageSample[];
  readonly sinceMs: number;
  readonly tookMs: number;
  readonly problem: string | undefined;
  stop(): void;
}

/** A straight line by least squares: how much a day, from points of (ms, value). */
function slopePerDay(points: readonly (readonly [number, number])[]): number {
  const [x0 = 0] = points[0] ?? [];
  const meanX = points.reduce((sum, [x]) => sum + x - x0, 0) / points.length;
  const meanY = points.reduce((sum, [, y]) => sum + y, 0) / points.length;
  let [top, bottom] = [0, 0];
  for (const [x, y] of points) {
    top += (x - x0 - meanX) * (y - meanY);
    bottom += (x - x0 - meanX) ** 2;
  }
  return bottom === 0 ? 0 : (top / bottom) * dayMs;
}

export function growthOf(samples: readonly StorageSample[]): StorageAnswer["growth"] {
  const times = samples.map(({ at }) => Date.parse(at));
  const overMs = (times.at(-1) ?? 0) - (times[0] ?? 0);
  if (overMs < growthMsMin) return undefined;
  const slope = (of: (sample: StorageSample) => number): number =>
    slopePerDay(samples.map((sample, index) => [times[index] ?? 0, of(sample)]));
  return {
    recordsPerDay: Math.round(slope(({ records }) => records)),
    bodyBytesPerDay: Math.round(slope(({ bodyBytes }) => bodyBytes)),
    overMs,
  };
}

export function createSamples(store: Pick<Store, "stats">): Samples {
  const all: StorageSample[] = [];
  const sinceMs = Date.now();
  let tookMs = 0;
  let problem: string | undefined;
  let asking: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;

  async function ask(): Promise<void> {
    const startedMs = performance.now();
    try {
      const stats = await store.stats();
      all.push({ at: new Date().toISOString(), ...stats });
      if (all.length > samplesMax) all.shift();
      problem = undefined;
    } catch (error) {
      problem = storeProblem(error).message;
    } finally {
      tookMs = performance.now() - startedMs;
      asking = undefined;
    }
  }

  function arm(delayMs: number): void {
    if (isStopped) return;
    timer = setTimeout(() => {
      asking ??= ask();
      void asking.then(() => arm(Math.max(everyMs, tookMs / share)));
    }, delayMs);
    timer.unref();
  }

  arm(firstMs);
  return {
    async now() {
      const last = all.at(-1);
      if (last !== undefined && Date.now() - Date.parse(last.at) < everyMs && problem === undefined) return;
      asking ??= ask();
      await asking;
    },
    all,
    sinceMs,
    get tookMs() {
      return tookMs;
    },
    get problem() {
      return problem;
    },
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
