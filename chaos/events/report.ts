/** What a run of the events comes to: counts, violations, and whether it proved anything. */
import { listed, seldomIn, shown, type Report } from "../report.ts";
import type { Violation } from "../history.ts";
import type { Origin } from "../../scripts/proof/origin.ts";
import type { Tally } from "../tally.ts";
import type { EventsOptions } from "./run.ts";

/** Lanes of a dead or paused relay taken over, that relay fenced, and so on: without these a run shows nothing. */
export const eventSights = [
  "session-ended",
  "session-lost",
  "redelivery",
  "duplicate",
  "parked",
  "taken-back",
  "takeover",
  "outbox-replay",
  "inbox-replay",
  "settled-by-person",
] as const;

type Shared = "store" | "control" | "seed" | "seconds" | "faults" | "faultsByKind" | "seenBesides" | "settledMs";

export interface EventsReport extends Origin, Pick<Report, Shared | "command" | "violations" | "vacuous" | "troubles"> {
  readonly part: "events";
  readonly broker: string;
  /** Committed. */
  readonly events: number;
  /** Each event once for each of its handlers. */
  readonly effects: number;
  readonly seen: Readonly<Record<string, number>>;
  /** By invariant; of each only the first few are told in `violations`. */
  readonly violated: Readonly<Record<string, number>>;
}

const keptMax = 10;

/** What a run must show and has not shown yet. */
export function eventsVacuousBy(
  options: Pick<EventsOptions, "seconds">,
  tally: Tally,
  kinds: readonly string[],
): readonly string[] {
  return [
    ...eventSights.filter((sight) => !tally.seen.has(sight)).map((sight) => `no ${sight} was seen`),
    ...seldomIn(options, tally, kinds),
  ];
}

interface Parts {
  readonly options: EventsOptions;
  readonly origin: Origin;
  readonly tally: Tally;
  readonly kinds: readonly string[];
  readonly counts: Pick<EventsReport, "events" | "effects" | "seconds" | "settledMs">;
  readonly violations: readonly Violation[];
}

export function eventsReportOf({ options, origin, tally, kinds, counts, violations }: Parts): EventsReport {
  const { store, broker, control, seed } = options;
  const { faults, seen, faultsInAll, troubles } = tally;
  const byInvariant = [...Map.groupBy(violations, ({ invariant }) => invariant)];
  return {
    part: "events",
    ...origin,
    store,
    broker,
    control,
    seed,
    ...counts,
    seconds: Math.round(counts.seconds),
    settledMs: Math.round(counts.settledMs),
    faults: faultsInAll,
    faultsByKind: Object.fromEntries(kinds.map((kind) => [kind, faults.get(kind) ?? 0])),
    seen: Object.fromEntries(eventSights.map((sight) => [sight, seen.get(sight) ?? 0])),
    seenBesides: Object.fromEntries([...seen].filter(([name]) => !eventSights.some((sight) => sight === name))),
    violated: Object.fromEntries(byInvariant.map(([invariant, each]) => [invariant, each.length])),
    violations: byInvariant.flatMap(([, each]) => each.slice(0, keptMax)),
    vacuous: eventsVacuousBy(options, tally, kinds),
    troubles,
  };
}

export function eventsTextOf(report: EventsReport): string {
  const violated = Object.values(report.violated).reduce((sum, count) => sum + count, 0);
  const control = report.control === "none" ? "" : `, control ${report.control}`;
  return [
    `chaos of events by ${report.broker} on ${report.store}${control}, ${report.seconds} s, seed ${report.seed}`,
    `${report.events} committed events, ${report.effects} effects`,
    `${report.faults} faults: ${listed(report.faultsByKind)}`,
    `seen: ${listed(report.seen)}; besides: ${listed(report.seenBesides)}`,
    `settled ${report.settledMs} ms after the last fault`,
    ...report.troubles.map((trouble) => `trouble: ${trouble}`),
    ...shown(report.violations),
    ...(violated === 0 ? [] : [`violated: ${listed(report.violated)}`]),
    ...report.vacuous.map((reason) => `proves nothing: ${reason}`),
    `${violated} violations`,
  ].join("\n");
}
