/** How much of what was asked is kept for each record, and which two keys may stand for one intent. */
import { limits } from "../contract/defaults.ts";
import type { LoggedAttempt } from "../contract/history.ts";

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

interface Intent<Name> {
  readonly name: Name;
  readonly atUs: number;
}

export interface Met<Name> {
  readonly first: Name;
  readonly second: Name;
  readonly apartUs: number;
}

export interface Intents<Name> {
  /** Notes the first run of a key, and tells with which other one it makes a pair: the nearest before it. */
  met(intent: string, name: Name, atUs: number, withinUs: number): Met<Name> | undefined;
}

/** Batches of several processes come in any order: what ran first is told by its time. */
export function createIntents<Name extends { readonly key: string }>(intentsMax: number): Intents<Name> {
  const last = new Map<string, Intent<Name>>();
  return {
    met(intent, name, atUs, withinUs) {
      const known = last.get(intent);
      last.delete(intent);
      last.set(intent, known === undefined || known.atUs <= atUs ? { name, atUs } : known);
      const [oldest] = last.size > intentsMax ? last.keys() : [];
      if (oldest !== undefined) last.delete(oldest);
      if (known === undefined || known.name.key === name.key || Math.abs(atUs - known.atUs) > withinUs)
        return undefined;
      return known.atUs <= atUs
        ? { first: known.name, second: name, apartUs: atUs - known.atUs }
        : { first: name, second: known.name, apartUs: known.atUs - atUs };
    },
  };
}
