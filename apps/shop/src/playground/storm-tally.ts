/**
 * What happened in one lane of a storm, counted event by event. The log forgets; a count that was made of what it still
 * remembers would be too low after a long storm.
 */
import type { Charge, LaneName, LoggedEvent } from "./contract.ts";
import { createSlices, type Slices } from "./storm-slices.ts";

export interface Tally {
  readonly arrivals: number;
  /** How often the connections of its database were ended. */
  readonly databaseDrops: number;
  /** Runs that another attempt took over. */
  readonly takenOver: ReadonlySet<string>;
  readonly slices: Slices;
  note(event: LoggedEvent): void;
  /** How often the bank charged for each run. */
  chargesOf(charges: readonly Charge[]): ReadonlyMap<string, number>;
}

/** What a lane says when it works on what a vanished attempt has left. */
const isTakeover: ReadonlySet<string> = new Set(["takeover", "asked-bank"]);

/** `name`: how the runs of the storm begin. It remembers a reference for each order that the bank was given, and no event. */
export function createTally(lane: LaneName, name: string, fromMs: number): Tally {
  let arrivals = 0;
  let databaseDrops = 0;
  const takenOver = new Set<string>();
  const runs = new Map<string, string>();
  const slices = createSlices(fromMs);
  return {
    get arrivals() {
      return arrivals;
    },
    get databaseDrops() {
      return databaseDrops;
    },
    takenOver,
    slices,
    note(event) {
      const { who, what, reference } = event;
      const run = [event.run ?? "", ...(event.runs ?? [])].find((each) => each.startsWith(`${name}-`));
      if (event.lane !== lane || run === undefined) return;
      if (who === "proxy" && what === "arrived") arrivals += 1;
      if (what === "kill-connections") databaseDrops += 1;
      if (isTakeover.has(what)) takenOver.add(run);
      if (what === "charge" && reference !== undefined) runs.set(reference, run);
      slices.note(event);
    },
    chargesOf(charges) {
      const counts = new Map<string, number>();
      for (const { reference } of charges) {
        const run = runs.get(reference);
        if (run !== undefined) counts.set(run, (counts.get(run) ?? 0) + 1);
      }
      return counts;
    },
  };
}
