/** Files of data as runs: those that chaos and soak write have a form of their own. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { EventsReport } from "../../chaos/events/report.ts";
import type { Report } from "../../chaos/report.ts";
import type { Origin } from "./origin.ts";
import type { ProofRun } from "./run.ts";

type Soak = Report & { readonly minutes: number; readonly rounds: number };

/** A control must fail, so it is no proof; it is told of beside the runs. */
export interface Reading extends ProofRun {
  /** Where the data is, below docs/reference. */
  readonly file: string;
  readonly control?: string;
  /** It has violations that were mended after it, and is left out of the sum. */
  readonly mended?: string;
  /** Why it proves nothing. */
  readonly vacuous: readonly string[];
}

const originOf = ({ date, commit, source }: Origin): Origin => ({
  date,
  commit,
  ...(source === undefined ? {} : { source }),
});
const controlOf = ({ control }: { readonly control: string }): { readonly control?: string } =>
  control === "none" ? {} : { control };
const optionOf = ({ control }: { readonly control: string }): string =>
  control === "none" ? "" : ` --control ${control}`;

function eventsReading(file: string, report: EventsReport): Reading {
  const { store, broker, seconds, seed, events, effects, faults, settledMs, seen } = report;
  return {
    file,
    kind: "chaos of events",
    what: `${broker} on ${store}`,
    command: `npm run chaos -- --part events --broker ${broker} --store ${store} --seconds ${roundedSeconds(seconds)}${optionOf(report)}`,
    tried: effects,
    unit: "effects",
    faults,
    seeds: String(seed),
    counts: { events, seconds, settledMs, ...seen },
    violations: Object.values(report.violated).reduce((sum, count) => sum + count, 0),
    vacuous: report.vacuous,
    ...originOf(report),
    ...controlOf(report),
  };
}

/** A run goes on until it has seen what it must: how long it was asked for is a whole minute, or less. */
const roundedSeconds = (seconds: number): number => (seconds >= 60 ? 60 : seconds);

function chaosReading(file: string, report: Report | Soak): Reading {
  const { store, seconds, seed, operations, answers, faults, forgotten, seen } = report;
  const isSoak = "rounds" in report;
  const long = isSoak ? { minutes: Math.round(report.minutes), rounds: report.rounds } : { seconds };
  return {
    file,
    kind: isSoak ? "soak" : "chaos",
    what: store,
    command: isSoak
      ? `npm run soak -- --store ${store} --minutes ${Math.round(report.minutes)}`
      : `npm run chaos -- --store ${store} --seconds ${roundedSeconds(seconds)}${optionOf(report)}`,
    tried: operations,
    unit: "operations",
    faults,
    seeds: String(seed),
    counts: { answers, ...long, ...seen, ...(forgotten > 0 ? { forgotten } : {}) },
    violations: report.violations.length,
    vacuous: report.vacuous,
    ...originOf(report),
    ...controlOf(report),
  };
}

export function readingOf(file: string, text: string): Reading {
  const data = JSON.parse(text) as ProofRun | EventsReport | Report | Soak;
  if ("kind" in data) return { ...data, file, vacuous: [] };
  return "part" in data ? eventsReading(file, data) : chaosReading(file, data);
}

export function readAll(folder: string): readonly Reading[] {
  const files = readdirSync(folder).filter((name) => name.endsWith(".json"));
  return files.toSorted().map((file) => readingOf(`proof/${file}`, readFileSync(join(folder, file), "utf8")));
}
