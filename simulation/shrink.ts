/** Leaves out items of the plan and faults of messages, one at a time, for as long as the same thing goes wrong. */
import type { Omissions, Violation } from "./world.ts";

/** What a history of any part tells of itself. */
export interface Told {
  readonly seed: number;
  readonly plan: { readonly items: readonly object[] };
  readonly violation: Violation | undefined;
  readonly hash: string;
  readonly lines: readonly string[];
  readonly fates: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
}

export type Play<History extends Told = Told> = (seed: number, omitted?: Omissions, keepsTrace?: boolean) => History;

const runsMax = 2_000;

export interface Shrunk {
  readonly history: Told;
  readonly items: number;
  readonly fates: number;
}

export function shrink(run: Play, history: Told, omitted: Omissions): Shrunk {
  const items = new Set<number>();
  const fates = new Set<string>();
  const wanted = history.violation?.invariant;
  let best = history;
  let runs = 0;
  const holds = (): boolean => {
    runs += 1;
    const next = run(history.seed, { ...omitted, items, fates }, true);
    if (next.violation?.invariant !== wanted) return false;
    best = next;
    return true;
  };
  for (let isSmaller = true; isSmaller && runs < runsMax;) {
    isSmaller = false;
    for (let index = 0; index < history.plan.items.length; index += 1) {
      if (items.has(index)) continue;
      items.add(index);
      if (holds()) isSmaller = true;
      else items.delete(index);
    }
    for (const fate of best.fates.slice()) {
      if (fates.has(fate)) continue;
      fates.add(fate);
      if (holds()) isSmaller = true;
      else fates.delete(fate);
    }
  }
  return { history: best, items: items.size, fates: fates.size };
}
