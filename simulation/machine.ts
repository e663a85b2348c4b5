/**
 * A process: its own clocks and timers, and what befalls it. A dead one never resumes: its promises stay pending for ever,
 * no `finally` runs. A frozen one (stopped, or with its event loop blocked) gets what came meanwhile when it wakes, answers
 * before timers or timers before answers.
 */
import type { Environment, Timer } from "../packages/ichido/src/core/contract/environment.ts";
import { createRandom, type Random } from "./random.ts";
import type { Scheduler } from "./scheduler.ts";

export type Arrival = "reply" | "timer";

export interface Clocks {
  /** How fast its monotonic clock runs. */
  readonly rate: number;
  /** How far its wall clock is off. */
  readonly wallAheadMs: number;
}

/** The process whose code runs now, for code that takes time from globals. */
export const running: { machine: Machine | undefined } = { machine: undefined };

export const epochMs = Date.UTC(2026, 0, 1);

export class Machine {
  readonly name: string;
  readonly number: number;
  readonly environment: Environment;
  readonly random: Random;
  /** Messages sent so far: the fate of each is drawn by its number. */
  sent = 0;
  isAlive = true;
  /** It was told to close down. */
  isClosing = false;
  /** It was, and has ended by itself. */
  hasExited = false;
  /** No fault has met it or its messages so far. */
  isUntroubled = true;
  wakesAtMs: number | undefined;
  wasFrozen = false;
  /** It runs the next version of what is being deployed. */
  isNext = false;
  readonly #scheduler: Scheduler;
  readonly #clocks: Clocks;
  readonly #bornMs: number;
  #waiting: { readonly kind: Arrival; readonly run: () => void }[] = [];

  constructor(name: string, number: number, seed: number, scheduler: Scheduler, clocks: Clocks) {
    this.name = name;
    this.number = number;
    this.#scheduler = scheduler;
    this.#clocks = clocks;
    this.#bornMs = scheduler.nowMs;
    this.random = createRandom(seed, number, 77);
    this.environment = {
      monotonicMs: () => this.monotonicMs(),
      wallMs: () => this.wallMs(),
      randomBytes: (length) => this.random.bytes(length),
      after: (delayMs, run) => this.after(delayMs, run),
    };
  }

  monotonicMs(): number {
    return (this.#scheduler.nowMs - this.#bornMs) * this.#clocks.rate;
  }

  wallMs(): number {
    return epochMs + this.#scheduler.nowMs + this.#clocks.wallAheadMs;
  }

  after(delayMs: number, run: () => void): Timer {
    // As on Node, no timer is shorter than a millisecond.
    const scheduled = this.#scheduler.after(Math.max(1, delayMs) / this.#clocks.rate, () => {
      this.deliver("timer", () => {
        // It may have been cancelled while the process stood still.
        if (!scheduled.isCancelled) run();
      });
    });
    return scheduled;
  }

  /** Something has arrived: it runs now, when the process wakes, or never. */
  deliver(kind: Arrival, run: () => void): void {
    if (!this.isAlive) return;
    if (this.wakesAtMs !== undefined) {
      this.#waiting.push({ kind, run });
      return;
    }
    running.machine = this;
    run();
  }

  freeze(forMs: number, first: Arrival): void {
    if (!this.isAlive || this.wakesAtMs !== undefined) return;
    this.isUntroubled = false;
    this.wasFrozen = true;
    const wakesAtMs = this.#scheduler.nowMs + forMs;
    this.wakesAtMs = wakesAtMs;
    this.#scheduler.at(wakesAtMs, () => this.wake(first));
  }

  wake(first: Arrival): void {
    if (this.wakesAtMs === undefined) return;
    this.wakesAtMs = undefined;
    const waiting = this.#waiting;
    this.#waiting = [];
    const ordered = [...waiting.filter(({ kind }) => kind === first), ...waiting.filter(({ kind }) => kind !== first)];
    // Each as an event of its own, at this very moment: what one sets off is done before the next is read.
    for (const { kind, run } of ordered) this.#scheduler.at(this.#scheduler.nowMs, () => this.deliver(kind, run));
  }

  kill(): void {
    this.isAlive = false;
    this.#waiting = [];
  }
}
