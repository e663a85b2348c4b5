/** How much of what was asked is kept for each record, and what the record tells of it by itself. */
import { limits } from "../contract/defaults.ts";
import type { LoggedAttempt } from "../contract/history.ts";
import type { StoredRecord } from "../contract/store.ts";
import { nobody } from "./bounds.ts";

/**
 * From old to new, and without the copies of a batch that was sent again. Of runs, and of all other answers, the last ones
 * each, so that a storm of replays hides no run.
 */
export function attemptsKept<Entry extends Pick<LoggedAttempt, "outcome" | "process" | "number">>(
  attempts: readonly Entry[],
): Entry[] {
  const seen = new Set<string>();
  const own = attempts.filter(({ process, number }) => {
    const name = `${number} ${process}`;
    return !seen.has(name) && seen.add(name);
  });
  const left = { runs: limits.attemptsPerRecordMax, others: limits.attemptsPerRecordMax };
  const kept = own.toReversed().filter(({ outcome }) => (left[isRun(outcome) ? "runs" : "others"] -= 1) >= 0);
  return kept.toReversed();
}

/**
 * Whether the bound of its record is looked after with this note: with one in sixteen, for a look costs more than the note.
 * What is over meanwhile, `attemptsKept` leaves out. Spread, so that no key always has the others.
 */
export function looksAfterBound(number: number): boolean {
  return Math.imul(number, 0x9e3779b1) >>> 28 === 0;
}

export function isRun(outcome: LoggedAttempt["outcome"]): boolean {
  return outcome === "executed";
}

/**
 * The one run of a record that was completed at its first attempt, as the record tells it: nothing is written a second
 * time for it. A person who settled or forgot it has put nobody in its owner's place.
 */
export function runOf(record: StoredRecord | undefined, by: ProcessName = unknownProcess): LoggedAttempt | undefined {
  if (record === undefined) return undefined;
  const { identity, state, attempts, owner, fence, response, createdAtMs, updatedAtMs } = record;
  if (state !== "completed" || attempts !== 1 || owner === nobody || response === undefined) return undefined;
  const { key, scopeHash, operation } = identity;
  return {
    record: { key, scopeHash, operation },
    number: 0,
    outcome: "executed",
    atMs: createdAtMs,
    tookMs: Math.max(0, updatedAtMs - createdAtMs),
    status: response.status,
    attempt: 1,
    fence,
    ...by,
  };
}

/** What was logged, with the run that the record tells by itself in its place, unless that was logged too. */
export function withOwnRun(logged: readonly LoggedAttempt[], run: LoggedAttempt | undefined): readonly LoggedAttempt[] {
  const isLogged = logged.some(({ outcome, fence }) => isRun(outcome) && fence === run?.fence);
  if (run === undefined || isLogged) return logged;
  return [run, ...logged];
}

export interface ProcessName {
  readonly process: string;
  readonly release?: string;
}

/** The process died before its first batch, or is long forgotten. */
const unknownProcess: ProcessName = { process: "not known" };

const ownersLength = 16;

/** What all owner tokens of one process begin with. */
export function ownersOf(owner: string): string {
  return owner.replaceAll("-", "").slice(0, ownersLength);
}
