/** What became of events, from when it is known until a turn of the relay has written it. */
import type { Outcome } from "./turn.ts";

/** Longest time that what became of an event stays unwritten. */
const unwrittenMsMax = 50;

export interface Outcomes {
  readonly size: number;
  add(outcome: Outcome): void;
  /** They stay until they are written. */
  all(): readonly Outcome[];
  /** A turn has written the oldest ones. */
  written(oldest: readonly Outcome[]): void;
  /** The session is lost, and may not write them any more. */
  takeAll(): readonly Outcome[];
  /** From now on they wait, unless they do already. */
  wait(): void;
  /** As many as make a turn worth its while, or waiting for long enough. */
  isDue(isAnyInFlight: boolean): boolean;
  /** Milliseconds until the oldest has waited for long enough; undefined where there is none. */
  restMs(): number | undefined;
  /** How many were ever written of a kind. */
  readonly counts: Readonly<Record<Outcome["kind"], number>>;
}

export function createOutcomes(nowMs: () => number, enough: number): Outcomes {
  const outcomes: Outcome[] = [];
  const counts = { sent: 0, rejected: 0, dead: 0, postponed: 0 };
  let sinceMs: number | undefined;
  const waitedMs = (): number => nowMs() - (sinceMs ?? nowMs());
  return {
    get size() {
      return outcomes.length;
    },
    counts,
    add: (outcome) => void outcomes.push(outcome),
    all: () => [...outcomes],
    written(oldest) {
      outcomes.splice(0, oldest.length);
      for (const { kind } of oldest) counts[kind] += 1;
      sinceMs = outcomes.length > 0 ? nowMs() : undefined;
    },
    takeAll: () => outcomes.splice(0),
    wait() {
      if (outcomes.length > 0) sinceMs ??= nowMs();
    },
    isDue: (isAnyInFlight) =>
      outcomes.length >= enough || (outcomes.length > 0 && (!isAnyInFlight || waitedMs() >= unwrittenMsMax)),
    restMs: () => (outcomes.length === 0 ? undefined : unwrittenMsMax - waitedMs()),
  };
}
