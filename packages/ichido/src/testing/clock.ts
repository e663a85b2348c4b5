/**
 * A clock that moves only when the test moves it: the environment of an engine and the clock of a memory store in one.
 * So a test can run through the whole life of a key deterministically, without waiting.
 */
import { knownOptions } from "../core/contract/option-checks.ts";
import type { Environment, Timer } from "../core/contract/environment.ts";

export interface FakeClockOptions {
  /** The wall clock at the start. Default: the first second of 2026. */
  readonly wallMs?: number;
  /** The same seed gives the same random bytes in the same order. Default 1. */
  readonly seed?: number;
}

export interface FakeClock {
  /** For `createIchido({ environment })`. */
  readonly environment: Environment;
  /** The wall clock, for `memoryStore({ nowMs })`. A function without `this`. */
  readonly nowMs: () => number;
  /**
   * Lets time pass. Timers fire in the order of their due times (then in the order they were set), each at its own
   * time, and everything that a timer set off in microtasks is done before the next one fires.
   */
  advance(ms: number): Promise<void>;
  /** Time passes and no timer fires, as while an event loop is blocked or its process is paused. */
  stall(ms: number): void;
  /** Steps the wall clock alone, forwards or backwards, as a correction of the system's time would. Fires nothing. */
  stepWall(ms: number): void;
  /** Timers that have not fired yet. */
  readonly pending: number;
}

interface Pending {
  readonly dueMs: number;
  readonly order: number;
  readonly run: () => void;
}

/** One round of the real event loop empties the microtask queue, however long its chains are. */
const settleMicrotasks = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

export function fakeClock(options: FakeClockOptions = {}): FakeClock {
  knownOptions("fakeClock", options, { wallMs: true, seed: true });
  let monotonicMs = 0;
  let wallAheadMs = options.wallMs ?? Date.UTC(2026, 0, 1);
  let order = 0;
  const timers = new Set<Pending>();
  const nextWord = words(options.seed ?? 1);

  const nowMs = (): number => monotonicMs + wallAheadMs;

  const environment: Environment = {
    monotonicMs: () => monotonicMs,
    wallMs: nowMs,
    randomBytes(length) {
      const bytes = new Uint8Array(length);
      for (let at = 0; at < length; at += 1) bytes[at] = nextWord() >>> 24;
      return bytes;
    },
    after(delayMs, run): Timer {
      order += 1;
      const timer: Pending = { dueMs: monotonicMs + Math.max(0, delayMs), order, run };
      timers.add(timer);
      return { cancel: () => void timers.delete(timer) };
    },
  };

  function earliest(untilMs: number): Pending | undefined {
    let found: Pending | undefined;
    for (const timer of timers) {
      if (timer.dueMs > untilMs) continue;
      if (
        found === undefined ||
        timer.dueMs < found.dueMs ||
        (timer.dueMs === found.dueMs && timer.order < found.order)
      ) {
        found = timer;
      }
    }
    return found;
  }

  return {
    environment,
    nowMs,
    async advance(ms) {
      if (!(ms >= 0))
        throw new RangeError(`advance: expected milliseconds of at least 0, got ${ms}; stepWall goes back`);
      const untilMs = monotonicMs + ms;
      await settleMicrotasks();
      for (let timer = earliest(untilMs); timer !== undefined; timer = earliest(untilMs)) {
        timers.delete(timer);
        monotonicMs = Math.max(monotonicMs, timer.dueMs);
        timer.run();
        await settleMicrotasks();
      }
      // What a timer started may have called `stall`: time never goes back.
      monotonicMs = Math.max(monotonicMs, untilMs);
      await settleMicrotasks();
    },
    stall(ms) {
      monotonicMs += ms;
    },
    stepWall(ms) {
      wallAheadMs += ms;
    },
    get pending() {
      return timers.size;
    },
  };
}

/** mulberry32: small, even enough for jitter and owner values, and the same everywhere. */
function words(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let word = Math.imul(state ^ (state >>> 15), state | 1);
    word ^= word + Math.imul(word ^ (word >>> 7), word | 61);
    return (word ^ (word >>> 14)) >>> 0;
  };
}
