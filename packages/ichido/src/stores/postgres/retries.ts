/**
 * Bounded repetition of one call. A claim repeats with the same owner and a completion with the same fence, so a
 * statement whose answer was lost is recognised when it comes again; only such calls repeat after a lost connection.
 */
import { around, doubledMs } from "../../core/contract/jitter.ts";
import type { Environment } from "../../core/contract/environment.ts";
import { failureKind } from "./failures.ts";

/** `always`: doing it twice is doing it once. `conflicts`: only when it is certain that nothing took effect. */
export type Repeatable = "always" | "conflicts";

const triesMax = 6;
/** A try may take this part of the call's time, so that one on a dead connection leaves time for another. */
const tryPart = 0.5;
const lostPauseMs = 25;
const conflictPauseMs = 4;

export interface Bounds {
  /** What is left of the call's time, where some of it has passed. */
  readonly withinMs?: number;
  /** How long a try waits for a row. Where it is given, one that is locked is tried again while there is time. */
  readonly lockMs?: number;
}

export interface Retries {
  <Value>(repeatable: Repeatable, attempt: (timeoutMs: number) => Promise<Value>, bounds?: Bounds): Promise<Value>;
}

/** What is left of the time of one call, in ms, at least 1. */
export type Left = () => number;

export function countdown(environment: Environment, forMs: number): Left {
  const untilMs = environment.monotonicMs() + forMs;
  return () => Math.max(1, untilMs - environment.monotonicMs());
}

export function createRetries(environment: Environment, callTimeoutMs: number): Retries {
  const tryMs = Math.ceil(callTimeoutMs * tryPart);
  return async (repeatable, attempt, { withinMs = callTimeoutMs, lockMs = withinMs } = {}) => {
    const left = countdown(environment, withinMs);
    for (let tries = 1; ; tries += 1) {
      const leftMs = Math.ceil(left());
      try {
        return await attempt(repeatable === "always" ? Math.min(leftMs, tryMs) : leftMs);
      } catch (error) {
        const kind = failureKind(error);
        const uncertain = kind === "lost" || kind === "timeout";
        const again = kind === "conflict" || kind === "locked" || (uncertain && repeatable === "always");
        const pauseMs = around(environment, doubledMs(uncertain ? lostPauseMs : conflictPauseMs, tries));
        const neededMs = pauseMs + (kind === "locked" ? lockMs : 0);
        if (!again || tries >= triesMax || neededMs >= left()) throw error;
        await new Promise<void>((resolve) => environment.after(pauseMs, resolve, { hold: true }));
      }
    }
  };
}
