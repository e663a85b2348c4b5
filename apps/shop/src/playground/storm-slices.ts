/**
 * The answers of a storm over time, counted as they come. However long it lasts there are no more than so many slices:
 * when they are used up, two become one.
 */
import type { LoggedEvent } from "./contract.ts";

/** Answers and losses in one slice of time, by the proxy; restarts, by the supervisor. */
export interface Slice {
  readonly atMs: number;
  readonly executed: number;
  readonly replayed: number;
  readonly inFlight: number;
  readonly lost: number;
  readonly failed: number;
  readonly restarts: number;
}

export interface Slices {
  /** How long each is by now. */
  readonly sliceMs: number;
  /** Without gaps: a slice in which nothing happened is there, with zeros. */
  readonly list: readonly Slice[];
  /** Of all of them. */
  readonly totals: SliceCounts;
  note(event: LoggedEvent): void;
}

/** How long a slice is at first. */
export const SLICE_MS = 500;
export const SLICES_MAX = 240;

export type SliceCounts = Readonly<Omit<Slice, "atMs">>;
type Counted = keyof SliceCounts;
type Counts = Record<Counted, number>;

const none: Readonly<Counts> = { executed: 0, replayed: 0, inFlight: 0, lost: 0, failed: 0, restarts: 0 };

export function createSlices(fromMs: number): Slices {
  let sliceMs = SLICE_MS;
  let counts: Counts[] = [];
  return {
    get sliceMs() {
      return sliceMs;
    },
    get list() {
      return counts.map((each, at) => ({ atMs: at * sliceMs, ...each }));
    },
    get totals() {
      return counts.reduce(sumOf, none);
    },
    note(event) {
      const name = countedAs(event);
      if (name === undefined) return;
      const afterMs = Math.max(0, event.atMs - fromMs);
      while (afterMs >= SLICES_MAX * sliceMs) {
        counts = inPairs(counts);
        sliceMs *= 2;
      }
      const at = Math.floor(afterMs / sliceMs);
      while (counts.length <= at) counts.push({ ...none });
      const slice = counts[at];
      if (slice !== undefined) slice[name] += 1;
    },
  };
}

function inPairs(counts: readonly Counts[]): Counts[] {
  return counts.flatMap((one, at) => (at % 2 === 1 ? [] : [sumOf(one, counts[at + 1] ?? none)]));
}

function sumOf(one: Readonly<Counts>, other: Readonly<Counts>): Counts {
  const sum = { ...one };
  for (const name of Object.keys(none) as Counted[]) sum[name] += other[name];
  return sum;
}

function countedAs({ who, what, status = 0, detail }: LoggedEvent): Counted | undefined {
  if (who === "supervisor" && what === "exit") return "restarts";
  if (who !== "proxy" || what === "arrived" || what === "left") return undefined;
  if (what !== "answered") return "lost";
  if (status === 409) return "inFlight";
  if (status >= 500) return "failed";
  return detail === "replayed" ? "replayed" : "executed";
}
