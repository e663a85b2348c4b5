/**
 * One virtual clock for a history. An event runs to its very end before the next one begins: the microtasks it set off are
 * drained in place, so that real promises drive the engine and nothing is left to the order in which an event loop turns.
 */

/** Yields after each event, for whoever drives it to drain the microtasks; returns false where there was too much to do. */
export type Events<Result> = Generator<undefined, Result, undefined>;

/** Runs every microtask that is waiting, and what they add, before it returns. */
const drainMicrotasks = (process as unknown as { _tickCallback: () => void })._tickCallback;

/** At once. Must not be called from a microtask. */
export function drive<Result>(events: Events<Result>): Result {
  for (;;) {
    const next = events.next();
    if (next.done === true) return next.value;
    drainMicrotasks();
  }
}

/** By turns of the real event loop, which drain the microtasks too: slow, and a witness that `drive` leaves none behind. */
export async function driveByTurns<Result>(events: Events<Result>): Promise<Result> {
  for (;;) {
    const next = events.next();
    if (next.done === true) return next.value;
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}

export interface Scheduled {
  /** Also of one whose time has come. */
  readonly isCancelled: boolean;
  cancel(): void;
}

class Entry implements Scheduled {
  readonly atMs: number;
  readonly order: number;
  run: (() => void) | undefined;

  constructor(atMs: number, order: number, run: () => void) {
    this.atMs = atMs;
    this.order = order;
    this.run = run;
  }

  get isCancelled(): boolean {
    return this.run === undefined;
  }

  cancel(): void {
    this.run = undefined;
  }
}

export class Scheduler {
  nowMs = 0;
  events = 0;
  /** Nothing more is to be run: what was to be found out has been. */
  isStopped = false;
  readonly #heap: Entry[] = [];
  #order = 0;

  at(atMs: number, run: () => void): Scheduled {
    this.#order += 1;
    const entry = new Entry(Math.max(atMs, this.nowMs), this.#order, run);
    this.#push(entry);
    return entry;
  }

  after(delayMs: number, run: () => void): Scheduled {
    return this.at(this.nowMs + Math.max(0, delayMs), run);
  }

  *runUntil(untilMs: number, eventsMax: number): Events<boolean> {
    for (
      let first = this.#heap[0];
      first !== undefined && first.atMs <= untilMs && !this.isStopped;
      first = this.#heap[0]
    ) {
      this.#pop();
      const { run } = first;
      if (run === undefined) continue;
      this.nowMs = first.atMs;
      this.events += 1;
      if (this.events > eventsMax) return false;
      run();
      yield;
    }
    this.nowMs = Math.max(this.nowMs, untilMs);
    return true;
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let place = heap.length;
    heap.push(entry);
    while (place > 0) {
      const parentPlace = (place - 1) >> 1;
      const parent = heap[parentPlace];
      if (parent === undefined || before(parent, entry)) break;
      heap[place] = parent;
      heap[parentPlace] = entry;
      place = parentPlace;
    }
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let place = 0;
    heap[0] = last;
    for (;;) {
      const leftPlace = 2 * place + 1;
      const left = heap[leftPlace];
      const right = heap[leftPlace + 1];
      if (left === undefined) break;
      const isRight = right !== undefined && before(right, left);
      const least = isRight ? right : left;
      const leastPlace = isRight ? leftPlace + 1 : leftPlace;
      if (before(last, least)) break;
      heap[place] = least;
      heap[leastPlace] = last;
      place = leastPlace;
    }
  }
}

function before(one: Entry, other: Entry): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order);
}
