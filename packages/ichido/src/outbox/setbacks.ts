/**
 * Events that found no way. One that fails while others pass by the same way is at fault itself, whatever its publisher
 * says: it waits alone. As long as none passes, it is not known which is at fault, and each is tried before one is
 * tried again: round by round.
 */
import type { OutboxEvent } from "./database.ts";
import type { Passes } from "./routes.ts";

/** The oldest is forgotten first: it is then a first failure again. */
const failedMax = 50_000;

interface Setback {
  /** How many had passed when it first left in vain. */
  readonly since: Passes;
  /** How often it failed although others passed. */
  readonly alone: number;
  readonly round: number;
  /** Grows with every failure of any event. */
  readonly place: number;
}

export interface Setbacks {
  /** It left when so many had passed, and failed. How often it did so although others passed; 0: not known. */
  note(seq: number, left: Passes, now: Passes, scope: string | undefined): number;
  /** The broker answered for it. */
  forget(seq: number): void;
  /** Whether it was tried in this round. */
  has(seq: number): boolean;
  nextRound(): void;
  /** Those that never failed, then the others, the one that failed last at the end. */
  inOrder(events: Iterable<OutboxEvent>): OutboxEvent[];
  /** How many events fail although others pass. */
  readonly alone: number;
}

export function createSetbacks(): Setbacks {
  const failed = new Map<number, Setback>();
  let round = 0;
  let place = 0;

  const placeOf = ({ seq }: OutboxEvent): number => failed.get(seq)?.place ?? 0;

  return {
    note(seq, left, now, scope) {
      const { since, alone } = failed.get(seq) ?? { since: left, alone: 0 };
      const othersPassed = scope === undefined ? now.byRoute > since.byRoute : now.byRule > since.byRule;
      const times = othersPassed || alone > 0 ? alone + 1 : 0;
      place += 1;
      failed.delete(seq);
      failed.set(seq, { since, alone: times, round, place });
      const [oldest] = failed.keys();
      if (failed.size > failedMax && oldest !== undefined) failed.delete(oldest);
      return times;
    },
    forget: (seq) => void failed.delete(seq),
    has: (seq) => failed.get(seq)?.round === round,
    nextRound() {
      round += 1;
    },
    inOrder(events) {
      const all = [...events];
      return failed.size === 0 ? all : all.toSorted((one, other) => placeOf(one) - placeOf(other));
    },
    get alone() {
      return [...failed.values()].filter(({ alone }) => alone > 0).length;
    },
  };
}
