/** Files of data as runs: those that chaos and soak write have a form of their own. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { eventSights, type EventsReport } from "../../chaos/events/report.ts";
import { hasFailed, type Report } from "../../chaos/report.ts";
import { sights } from "../../chaos/tally.ts";
import type { Origin } from "./origin.ts";
import { emptyBy, type ProofRun } from "./run.ts";

type Soak = Report & { readonly minutes: number; readonly rounds: number };

/** A control must fail, so it is no proof; it is told of beside the runs. */
export interface Reading extends Omit<ProofRun, "command"> {
  /** Absent where it was not kept. */
  readonly command?: string;
  /** Where the data is, below docs/reference. */
  readonly file: string;
  readonly control?: string;
  /** Of a control: it did what a blind judgement would not see. */
  readonly failed?: boolean;
  /** It has violations that were mended after it, and is left out of the sum. */
  readonly mended?: string;
  /** Why it proves nothing: what it said itself, and what a run of today must have seen. */
  readonly vacuous: readonly string[];
  /** What a run of today must have seen, and was not counted yet; with what was counted in its place. */
  readonly untold?: readonly Untold[];
}

export interface Untold {
  readonly sight: string;
  /** Such as `settlement 94`. */
  readonly counted?: string;
}

const originOf = ({ date, commit, source }: Origin): Origin => ({
  date,
  commit,
  ...(source === undefined ? {} : { source }),
});
const controlOf = (
  report: Pick<Report, "violations"> & { readonly control: string },
): Pick<Reading, "control" | "failed"> =>
  report.control === "none" ? {} : { control: report.control, failed: hasFailed(report) };
const commandOf = ({ command }: { readonly command?: string }): { readonly command?: string } =>
  command === undefined ? {} : { command };

/** What was counted before sights were told apart. */
const former: Readonly<Record<string, string>> = {
  "settled-by-reconciler": "settlement",
  "settled-by-person": "settlement",
};

type Seen = Readonly<Record<string, number>>;

/** Of a sight that was not counted nothing is known, but for the count in its place: 0 there is 0 of it. */
function shownBy(
  { vacuous, seen }: { readonly vacuous: readonly string[]; readonly seen: Seen },
  demanded: readonly string[],
): Pick<Reading, "vacuous" | "untold"> {
  const countOf = (sight: string): number | undefined => seen[sight] ?? seen[former[sight] ?? ""];
  const unseen = demanded.filter((sight) => countOf(sight) === 0).map((sight) => `no ${sight} was seen`);
  const untold = demanded
    .filter((sight) => seen[sight] === undefined && countOf(sight) !== 0)
    .map((sight) => ({ sight, ...(countOf(sight) && { counted: `${former[sight]} ${countOf(sight)}` }) }));
  return { vacuous: [...new Set([...vacuous, ...unseen])], ...(untold.length === 0 ? {} : { untold }) };
}

function eventsReading(file: string, report: EventsReport): Reading {
  const { store, broker, seconds, seed, events, effects, faults, settledMs, seen } = report;
  return {
    file,
    kind: "chaos of events",
    what: `${broker} on ${store}`,
    ...commandOf(report),
    tried: effects,
    unit: "effects",
    faults,
    seeds: String(seed),
    counts: { events, seconds, settledMs, ...seen },
    violations: Object.values(report.violated).reduce((sum, count) => sum + count, 0),
    ...shownBy(report, eventSights),
    ...originOf(report),
    ...controlOf(report),
  };
}

function chaosReading(file: string, report: Report | Soak): Reading {
  const { store, seconds, seed, operations, answers, faults, forgotten } = report;
  // Some were counted before they had to be seen. Old runs tell nothing besides.
  const { seenBesides = {} } = report as Partial<Report>;
  const before = Object.entries(seenBesides).filter(([name]) => sights.some((sight) => sight === name));
  const seen: Seen = { ...Object.fromEntries(before), ...report.seen };
  const isSoak = "rounds" in report;
  const long = isSoak ? { minutes: Math.round(report.minutes), rounds: report.rounds } : { seconds };
  return {
    file,
    kind: isSoak ? "soak" : "chaos",
    what: store,
    ...commandOf(report),
    tried: operations,
    unit: "operations",
    faults,
    seeds: String(seed),
    counts: { answers, ...long, ...seen, ...(forgotten > 0 ? { forgotten } : {}) },
    violations: report.violations.length,
    ...shownBy({ ...report, seen }, sights),
    ...originOf(report),
    ...controlOf(report),
  };
}

function told(file: string, data: ProofRun | EventsReport | Report | Soak): Reading {
  if ("kind" in data) return { ...data, file, vacuous: [] };
  return "part" in data ? eventsReading(file, data) : chaosReading(file, data);
}

export function readingOf(file: string, text: string): Reading {
  const reading = told(file, JSON.parse(text) as ProofRun | EventsReport | Report | Soak);
  return { ...reading, vacuous: [...reading.vacuous, ...emptyBy(reading)] };
}

export function readAll(folder: string): readonly Reading[] {
  const files = readdirSync(folder).filter((name) => name.endsWith(".json"));
  return files.toSorted().map((file) => readingOf(`proof/${file}`, readFileSync(join(folder, file), "utf8")));
}
