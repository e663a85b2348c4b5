/** What a run comes to: counts, violations, and whether it proved anything. */
import type { History, Violation } from "./history.ts";
import type { Origin } from "../scripts/proof/origin.ts";
import type { RunOptions } from "./run.ts";
import { sights, type Sight, type Tally } from "./tally.ts";

export interface Report extends Origin {
  /** As it was given; absent where a test ran it, and in reports from before it was kept. */
  readonly command?: string;
  readonly store: string;
  readonly control: string;
  readonly seed: number;
  readonly seconds: number;
  readonly operations: number;
  /** While things went wrong, and when everything was asked for once more. */
  readonly answers: number;
  readonly calmAnswers: number;
  readonly statuses: Readonly<Record<string, number>>;
  /** Requests without an answer: the server died, stood still or was too slow. */
  readonly interrupted: number;
  /** True answers that the store had not taken yet when they were given. */
  readonly unstored: number;
  readonly mismatches: number;
  /** Of a store that loses what it had acknowledged: answers that were made anew, and charges that were made twice. */
  readonly forgotten: number;
  readonly faults: number;
  readonly faultsByKind: Readonly<Record<string, number>>;
  readonly seen: Readonly<Record<Sight, number>>;
  readonly seenBesides: Readonly<Record<string, number>>;
  /** How long it took after the last fault until every key had its answer. */
  readonly settledMs: number;
  readonly violations: readonly Violation[];
  /** Why the run proves nothing, whatever it found. */
  readonly vacuous: readonly string[];
  readonly troubles: readonly string[];
}

/** A shorter run must show all that a run must show, and each kind of fault once; how often is asked of longer ones. */
const fullSeconds = 60;
const hitsMin = 10;

/** How often each kind of fault must have struck. */
const hitsNeededIn = ({ seconds }: { readonly seconds: number }): number => (seconds >= fullSeconds ? hitsMin : 1);

/** The kinds that struck too seldom. */
export function seldomIn(
  options: { readonly seconds: number },
  { faults }: Pick<Tally, "faults">,
  kinds: readonly string[],
): readonly string[] {
  const needed = hitsNeededIn(options);
  return kinds
    .map((kind) => ({ kind, hits: faults.get(kind) ?? 0 }))
    .filter(({ hits }) => hits < needed)
    .map(({ kind, hits }) => `${kind} struck ${hits} times, fewer than ${needed}`);
}

const faultsMin = 400;
const answersMin = 5_000;

interface Parts {
  readonly options: Pick<RunOptions, "store" | "control" | "seed" | "seconds">;
  readonly origin: Origin;
  readonly history: History;
  readonly tally: Tally;
  /** How long things went wrong. */
  readonly seconds: number;
  readonly settledMs: number;
  readonly kinds: readonly string[];
}

const seenOf = (sight: Sight, { replays }: History, { seen }: Tally): number =>
  sight === "replay" ? replays : (seen.get(sight) ?? 0);

/** What a run must show and has not shown yet. */
export function vacuousBy(parts: Pick<Parts, "options" | "history" | "tally" | "kinds">): readonly string[] {
  const { options, history, tally, kinds } = parts;
  const isFull = options.seconds >= fullSeconds;
  const atLeast = (what: string, count: number, min: number): readonly string[] =>
    isFull && count < min ? [`${count} ${what}, fewer than ${min}`] : [];
  return [
    ...atLeast("faults", tally.faultsInAll, faultsMin),
    ...atLeast("answers", history.stormAnswers, answersMin),
    ...sights.filter((sight) => seenOf(sight, history, tally) === 0).map((sight) => `no ${sight} was seen`),
    ...seldomIn(options, tally, kinds),
  ];
}

export function reportOf(parts: Parts): Report {
  const { options, origin, history, tally, settledMs, kinds, seconds } = parts;
  const { store, control, seed } = options;
  const seen = Object.fromEntries(sights.map((sight) => [sight, seenOf(sight, history, tally)])) as Record<
    Sight,
    number
  >;
  const faultsByKind = Object.fromEntries(kinds.map((kind) => [kind, tally.faults.get(kind) ?? 0]));
  return {
    store,
    control,
    seed,
    ...origin,
    seconds: Math.round(seconds),
    operations: history.begun,
    answers: history.stormAnswers,
    calmAnswers: history.answers - history.stormAnswers,
    statuses: Object.fromEntries([...history.statuses].toSorted((a, b) => b[1] - a[1])),
    interrupted: history.interrupted,
    unstored: history.unstored,
    mismatches: history.mismatches,
    forgotten: history.forgotten,
    faults: tally.faultsInAll,
    faultsByKind,
    seen,
    seenBesides: Object.fromEntries([...tally.seen].filter(([name]) => !(name in seen))),
    settledMs: Math.round(settledMs),
    violations: history.violations,
    vacuous: vacuousBy(parts),
    troubles: tally.troubles,
  };
}

/** postgres.js, where its server ends a session that waits for nothing (docs/guide/stores.md). */
const driversOwn = "Cannot read properties of null (reading 'write')";
/** It shows in how often the kind struck. */
const notStruck = " could not strike: ";

/** What ended one of our processes, or would have ended a user's. */
export const crashesIn = (troubles: readonly string[]): readonly string[] =>
  troubles.filter((trouble) => !trouble.includes(driversOwn) && !trouble.includes(notStruck));

/** A run holds when nothing was violated, no process ended by itself, and it was no empty one. */
export const holds = ({
  violations,
  vacuous,
  troubles,
}: Pick<Report, "violations" | "vacuous" | "troubles">): boolean =>
  violations.length + vacuous.length + crashesIn(troubles).length === 0;

/** By one of these a control fails; a run that was slow to come to rest is stuck without one, too. */
const shownByControls = ["effect-doubled", "answer-changed", "wrote-without-session"];

/** What a control was to do, and a blind judgement would not see. */
export const hasFailed = ({ violations }: Pick<Report, "violations">): boolean =>
  violations.some(({ invariant }) => shownByControls.includes(invariant));

export const listed = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(", ");

/** Of each invariant. */
const shownMax = 4;

export function shown(violations: readonly Violation[]): readonly string[] {
  const byInvariant = Map.groupBy(violations, ({ invariant }) => invariant);
  return [...byInvariant].flatMap(([invariant, each]) => [
    ...each.slice(0, shownMax).map(({ detail }) => `violation: ${invariant}: ${detail}`),
    ...(each.length > shownMax ? [`violation: ${invariant}: and ${each.length - shownMax} more`] : []),
  ]);
}

export function textOf(report: Report): string {
  const { violations, vacuous, troubles } = report;
  const control = report.control === "none" ? "" : `, control ${report.control}`;
  return [
    `chaos on ${report.store}${control}, ${report.seconds} s, seed ${report.seed}`,
    `${report.operations} operations, ${report.answers} answers and ${report.calmAnswers} in the calm after it: ${listed(report.statuses)}`,
    `${report.interrupted} requests without an answer, ${report.unstored} answers told as not stored, ${report.mismatches} mismatches refused, ${report.forgotten} forgotten`,
    `${report.faults} faults: ${listed(report.faultsByKind)}`,
    `seen: ${listed(report.seen)}; besides: ${listed(report.seenBesides)}`,
    `settled ${report.settledMs} ms after the last fault`,
    ...troubles.map((trouble) => `trouble: ${trouble}`),
    ...shown(violations),
    ...vacuous.map((reason) => `proves nothing: ${reason}`),
    `${violations.length} violations`,
  ].join("\n");
}
