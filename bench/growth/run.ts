/** Fills what is missing, then measures what was not; stops in time, for the next run to go on. */
import { spawnSync } from "node:child_process";
import { statfsSync } from "node:fs";
import type { Place, Purpose } from "./bed.ts";
import { fill, type Filled } from "./fill.ts";
import { nameOf, type Level, type StoreName } from "./level.ts";
import { measure, type Times } from "./measured.ts";
import { openPlace } from "./places.ts";
import { baseOf, diskBytes, fillSeconds, measureSeconds } from "./plan.ts";
import type { State } from "./state.ts";

/** No run is longer than this. */
export const runSecondsMax = 40 * 60;
/** Kept free on the disk. */
const spareBytes = 5e9;

export interface Plan {
  readonly levels: readonly Level[];
  readonly times: Times;
  /** Measures nothing. */
  readonly fillOnly: boolean;
}

interface Task {
  readonly purpose: Purpose;
  readonly level: Level;
  readonly seconds: number;
}

export interface Schedule {
  readonly now: readonly Task[];
  readonly later: readonly Task[];
  readonly seconds: number;
}

/** Store by store; a task that does not fit into this run, and all after it, are left to the next one. */
export function scheduleOf({ levels, times, fillOnly }: Plan, state: State): Schedule {
  const open = levels.filter((level) => state.measured(nameOf(level)) === undefined);
  const tasks = [...new Set(open.map(({ store }) => store))].flatMap((store) => {
    const own = open.filter((level) => level.store === store);
    const needed = [baseOf({ store, shape: "random", rows: 0 }), ...own];
    const empty = needed.filter((level) => state.filled(nameOf(level)) === undefined);
    const fills = empty.map((level): Task => ({ purpose: "fill", level, seconds: fillSeconds(level) }));
    const measures = own.map((level): Task => ({ purpose: "measure", level, seconds: measureSeconds(level, times) }));
    return fillOnly ? fills : [...fills, ...measures];
  });
  let seconds = 0;
  const fits = tasks.findIndex((task) => (seconds += task.seconds) > runSecondsMax);
  const count = fits === -1 ? tasks.length : fits;
  const now = tasks.slice(0, count);
  return { now, later: tasks.slice(count), seconds: now.reduce((all, task) => all + task.seconds, 0) };
}

export function missingBytes({ now }: Schedule, folder: string): number {
  const needed = now.reduce((all, { purpose, level }) => all + (purpose === "fill" ? diskBytes(level) : 0), 0);
  const { bavail, bsize } = statfsSync(folder);
  return Math.max(0, needed + spareBytes - bavail * bsize);
}

/** One server at a time. */
class Places {
  readonly #folder: string;
  #open: { readonly place: Place; readonly purpose: Purpose } | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async of(store: StoreName, purpose: Purpose): Promise<Place> {
    if (this.#open?.place.store === store && this.#open.purpose === purpose) return this.#open.place;
    await this.close();
    this.#open = { place: await openPlace(store, this.#folder, purpose), purpose };
    return this.#open.place;
  }

  async close(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    await open?.place.close();
    // What was filled without waiting for the disk would otherwise be on its way there while others are measured.
    if (open?.purpose === "fill") spawnSync("sync");
  }
}

function filledOf(level: Level, state: State): Filled {
  const filled = state.filled(nameOf(level));
  if (filled === undefined) throw new Error(`${nameOf(level)} is not filled`);
  return filled;
}

/** What its own verbs write must wait for the disk, or it would be written in other groups. */
const purposeOf = ({ purpose, level }: Task): Purpose => (level.shape === "own" ? "measure" : purpose);

export async function run(
  { now }: Schedule,
  { times }: Plan,
  state: State,
  say: (line: string) => void,
): Promise<void> {
  const places = new Places(state.folder);
  const endMs = Date.now() + runSecondsMax * 1_000;
  try {
    for (const task of now) {
      // Estimates are those of an idle machine.
      if (Date.now() + task.seconds * 1_000 > endMs) break;
      const { level } = task;
      const place = await places.of(level.store, purposeOf(task));
      if (task.purpose === "fill") {
        state.noteFilled(nameOf(level), await fill(place, level, say));
        continue;
      }
      const base = baseOf(level);
      const filled = filledOf(base, state);
      const sizes = { own: filledOf(level, state).bytes, base: filled.bytes };
      // A run that is cut off leaves its own keys there, too many for the small one. Of expired records nothing is left.
      state.forgetFilled(nameOf(base));
      if (level.shape === "expired") state.forgetFilled(nameOf(level));
      state.noteMeasured(nameOf(level), await measure(place, level, base, sizes, times, say));
      state.noteFilled(nameOf(base), filled);
    }
  } finally {
    await places.close();
  }
}
