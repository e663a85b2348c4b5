/**
 * One deadline for many calls, with one timer for all of them: calls are due in the order in which they began. A timer
 * per call would be among the most expensive parts of a request.
 */
import { Chain, type Link } from "./chain.ts";
import { DeadlineExceeded } from "./deadline.ts";
import type { Environment, Timer } from "./environment.ts";

interface Entry extends Link<Entry> {
  readonly dueMs: number;
  expire(): void;
}

/** What is to happen as a call ends, before its caller learns of it. */
export interface Ends<T> {
  worked?(value: T): void;
  /** In time or not; returns the error that the caller gets. */
  failed?(error: unknown): Error;
  /** It worked after its time was up: its caller was told that it failed. */
  late?(value: T): void;
}

/** A promise that follows another one until its time is up. */
class Bounded<T> implements Entry {
  readonly promise: Promise<T>;
  readonly dueMs: number;
  readonly #of: Deadlines;
  readonly #ends: Ends<T> | undefined;
  #resolve!: (value: T) => void;
  #reject!: (error: Error) => void;
  #isOpen = true;

  constructor(of: Deadlines, dueMs: number, ends: Ends<T> | undefined) {
    this.#of = of;
    this.dueMs = dueMs;
    this.#ends = ends;
    this.promise = new Promise<T>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Once it is among the others: what a store made itself may answer before `then` returns. */
  follow(pending: Promise<T>): void {
    try {
      pending.then(
        (value) => {
          if (!this.#end()) return this.#ends?.late?.(value);
          return this.#work(value);
        },
        (error: unknown) => {
          if (this.#end()) this.#fail(error);
        },
      );
    } catch (error) {
      // No promise at all.
      if (this.#end()) this.#fail(error);
    }
  }

  #work(value: T): void {
    try {
      this.#ends?.worked?.(value);
    } catch (error) {
      // A value that is none of those that the caller knows, from a store of the user's own.
      this.#reject(error as Error);
      return;
    }
    this.#resolve(value);
  }

  #fail(error: unknown): void {
    this.#reject(this.#ends?.failed === undefined ? (error as Error) : this.#ends.failed(error));
  }

  #end(): boolean {
    if (!this.#isOpen) return false;
    this.#isOpen = false;
    this.#of.remove(this);
    return true;
  }

  expire(): void {
    this.#isOpen = false;
    this.#fail(new DeadlineExceeded(`no answer within ${this.#of.timeoutMs} ms`));
  }
}

export class Deadlines {
  readonly #environment: Environment;
  readonly timeoutMs: number;
  readonly #entries = new Chain<Entry>();
  #timer: Timer | undefined;

  constructor(environment: Environment, timeoutMs: number) {
    this.#environment = environment;
    this.timeoutMs = timeoutMs;
  }

  /** Whether a call is under way. */
  get busy(): boolean {
    return this.#entries.first !== undefined;
  }

  /** As `withDeadline`, for a call that has begun already. */
  bound<T>(pending: Promise<T>, ends?: Ends<T>): Promise<T> {
    const nowMs = this.#environment.monotonicMs();
    const bounded = new Bounded(this, nowMs + this.timeoutMs, ends);
    this.#add(bounded, nowMs);
    bounded.follow(pending);
    return bounded.promise;
  }

  /** For a call that begins now. The returned function ends it, and answers whether that was in time. */
  begin(expire: (error: DeadlineExceeded) => void): () => boolean {
    const nowMs = this.#environment.monotonicMs();
    let isOpen = true;
    const entry: Entry = {
      dueMs: nowMs + this.timeoutMs,
      expire: () => {
        isOpen = false;
        expire(new DeadlineExceeded(`no answer within ${this.timeoutMs} ms`));
      },
    };
    this.#add(entry, nowMs);
    return () => {
      const inTime = isOpen;
      if (inTime) this.remove(entry);
      isOpen = false;
      return inTime;
    };
  }

  #add(entry: Entry, nowMs: number): void {
    const wasBusy = this.busy;
    this.#entries.add(entry);
    if (wasBusy) return;
    if (this.#timer === undefined) this.#arm(entry, nowMs);
    else this.#timer.hold?.(true);
  }

  remove(entry: Entry): void {
    this.#entries.remove(entry);
    // The timer may still fire with nothing due, but it must not keep the process alive for that.
    if (!this.busy) this.#timer?.hold?.(false);
  }

  /** A caller awaits this: the timer keeps the process alive until then. */
  #arm({ dueMs }: Entry, nowMs: number): void {
    this.#timer = this.#environment.after(Math.max(0, dueMs - nowMs), () => this.#fire(), { hold: true });
  }

  #fire(): void {
    this.#timer = undefined;
    const nowMs = this.#environment.monotonicMs();
    for (let entry = this.#entries.first; entry !== undefined && entry.dueMs <= nowMs; entry = this.#entries.first) {
      this.remove(entry);
      entry.expire();
    }
    if (this.#entries.first !== undefined && this.#timer === undefined) this.#arm(this.#entries.first, nowMs);
  }
}

/** Deadlines of several lengths. A caller uses few lengths, so none is ever removed. */
export class DeadlinesByLength {
  readonly #environment: Environment;
  readonly #lengths = new Map<number, Deadlines>();

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  bound<T>(timeoutMs: number, pending: Promise<T>, ends?: Ends<T>): Promise<T> {
    let deadlines = this.#lengths.get(timeoutMs);
    if (deadlines === undefined) {
      deadlines = new Deadlines(this.#environment, timeoutMs);
      this.#lengths.set(timeoutMs, deadlines);
    }
    return deadlines.bound(pending, ends);
  }
}
