/**
 * One deadline for many calls, with one timer for all of them: calls are due in the order in which they began. A timer
 * per call would be among the most expensive parts of a request.
 */
import { DeadlineExceeded } from "./deadline.ts";
import type { Environment, Timer } from "./environment.ts";

interface Entry {
  readonly dueMs: number;
  readonly expire: () => void;
  before: Entry | undefined;
  after: Entry | undefined;
}

export class Deadlines {
  readonly #environment: Environment;
  readonly timeoutMs: number;
  #first: Entry | undefined;
  #last: Entry | undefined;
  #timer: Timer | undefined;

  constructor(environment: Environment, timeoutMs: number) {
    this.#environment = environment;
    this.timeoutMs = timeoutMs;
  }

  /** Whether a call is under way. */
  get busy(): boolean {
    return this.#first !== undefined;
  }

  /** As `withDeadline`, for a call that has begun already. */
  bound<T>(pending: Promise<T>, onLate?: (value: T) => void): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const end = this.begin(reject);
      pending.then(
        (value) => (end() ? resolve(value) : onLate?.(value)),
        (error: unknown) => {
          if (end()) reject(error as Error);
        },
      );
    });
  }

  /** For a call that begins now. The returned function ends it, and answers whether that was in time. */
  begin(expire: (error: DeadlineExceeded) => void): () => boolean {
    let open = true;
    const entry = this.#add(() => {
      open = false;
      expire(new DeadlineExceeded(`no answer within ${this.timeoutMs} ms`));
    });
    return () => {
      const inTime = open;
      if (inTime) this.#remove(entry);
      open = false;
      return inTime;
    };
  }

  #add(expire: () => void): Entry {
    const nowMs = this.#environment.monotonicMs();
    const entry: Entry = { dueMs: nowMs + this.timeoutMs, expire, before: this.#last, after: undefined };
    if (this.#last !== undefined) this.#last.after = entry;
    this.#last = entry;
    if (this.#first !== undefined) return entry;
    this.#first = entry;
    if (this.#timer === undefined) this.#arm(entry, nowMs);
    else this.#timer.hold?.(true);
    return entry;
  }

  #remove(entry: Entry): void {
    if (entry.before === undefined) this.#first = entry.after;
    else entry.before.after = entry.after;
    if (entry.after === undefined) this.#last = entry.before;
    else entry.after.before = entry.before;
    // The timer may still fire with nothing due, but it must not keep the process alive for that.
    if (this.#first === undefined) this.#timer?.hold?.(false);
  }

  /** A caller awaits this: the timer keeps the process alive until then. */
  #arm({ dueMs }: Entry, nowMs: number): void {
    this.#timer = this.#environment.after(Math.max(0, dueMs - nowMs), () => this.#fire(), { hold: true });
  }

  #fire(): void {
    this.#timer = undefined;
    const nowMs = this.#environment.monotonicMs();
    for (let entry = this.#first; entry !== undefined && entry.dueMs <= nowMs; entry = this.#first) {
      this.#remove(entry);
      entry.expire();
    }
    if (this.#first !== undefined && this.#timer === undefined) this.#arm(this.#first, nowMs);
  }
}

/** Deadlines of several lengths. A caller uses few lengths, so none is ever removed. */
export class DeadlinesByLength {
  readonly #environment: Environment;
  readonly #lengths = new Map<number, Deadlines>();

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  bound<T>(timeoutMs: number, pending: Promise<T>, onLate?: (value: T) => void): Promise<T> {
    let deadlines = this.#lengths.get(timeoutMs);
    if (deadlines === undefined) {
      deadlines = new Deadlines(this.#environment, timeoutMs);
      this.#lengths.set(timeoutMs, deadlines);
    }
    return deadlines.bound(pending, onLate);
  }
}
