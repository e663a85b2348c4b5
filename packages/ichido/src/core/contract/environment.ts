import { randomBytes } from "node:crypto";

/** A pending timer; `cancel` is idempotent. */
export interface Timer {
  cancel(): void;
  /** Whether it keeps the process alive from now on. */
  hold?(on: boolean): void;
}

/**
 * Everything the engine, outbox and inbox take from the outside world besides their database: a monotonic clock, a wall
 * clock for dates only, randomness and timers. Injected, so that a simulation can run the same code deterministically.
 */
export interface Environment {
  /** Monotonic milliseconds; only differences mean anything. */
  monotonicMs(): number;
  /** Wall clock, for dates: when something happened, and how old an event says it is. Never for a lease or a wait. */
  wallMs(): number;
  randomBytes(length: number): Uint8Array;
  /** Timers never keep the process alive by themselves unless `hold` is set. */
  after(delayMs: number, run: () => void, options?: { readonly hold?: boolean }): Timer;
  /** Names this process for people: host and process id. */
  processName?(): string;
}

export const systemEnvironment: Environment = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  randomBytes: (length) => new Uint8Array(randomBytes(length)),
  after: (delayMs, run, options) => {
    const timer = setTimeout(run, delayMs);
    // Outside Node a timer may be a number, which keeps nothing alive.
    const { ref, unref } = timer as Partial<typeof timer>;
    if (options?.hold !== true) unref?.call(timer);
    return {
      cancel: () => clearTimeout(timer),
      hold: (on) => void (on ? ref : unref)?.call(timer),
    };
  },
  // Outside Node there may be no process to name.
  processName: () => {
    const { process } = globalThis as { readonly process?: Partial<typeof globalThis.process> };
    return `${process?.env?.["HOSTNAME"] ?? "host"}:${process?.pid ?? 0}`;
  },
};

/** A number in [0, 1) from the environment's randomness, for jitter. */
export function fraction(environment: Environment): number {
  const bytes = environment.randomBytes(4);
  return (((bytes[0] ?? 0) * 256 + (bytes[1] ?? 0)) * 256 + (bytes[2] ?? 0)) / 2 ** 24;
}
