/**
 * Outcomes that the store could not take when they were made: completions, releases, suspensions. Each is tried again
 * until the store has taken it or says that another attempt owns the record. The fence makes that safe however long it
 * takes: an outage loses no outcome unless another attempt has overtaken it.
 */
import { upperHalfOf } from "../contract/jitter.ts";
import { limits } from "../contract/defaults.ts";
import type { Environment, Timer } from "../contract/environment.ts";
import { cameLater } from "../record-machine/record.ts";

export interface LateOutcome {
  /** One string per identity: only the latest attempt of one can still write. */
  readonly id: string;
  /** Of its attempt: it tells the later one, whoever ends first. */
  readonly fence: number;
  /** When its attempt began: `executionMs` later it is given up. */
  readonly startedMs: number;
  readonly bytes: number;
  /** Leaves the body of an answer away, where there is no room for it: a retry then learns that it was done. */
  readonly dropBody?: () => void;
  readonly write: () => Promise<unknown>;
  /** Written, stale or given up. */
  readonly onEnd: () => void;
}

export interface LateWrite {
  readonly fence: number;
  /** Tries now, together with a try under way. Rejects where the store still fails. */
  now(): Promise<void>;
  stop(): void;
}

export interface LateWrites {
  /**
   * `full`: there is no room, nor would there be without the body. `overtaken`: an outcome of a later attempt waits, by which
   * this one can never be written. `closed`: nothing is tried any more, after `stop` or past `executionMs` of its attempt.
   */
  add(outcome: LateOutcome): LateWrite | "full" | "overtaken" | "closed";
  /** Writes what this process has for an identity, before anybody claims it. False: the store still fails. */
  flush(id: string): Promise<boolean>;
  readonly size: number;
  stop(): void;
}

const delayMsFirst = 50;
const delayMsMax = 2_000;

export function createLateWrites(parts: {
  readonly environment: Environment;
  readonly executionMs: number;
}): LateWrites {
  const { environment } = parts;
  const writes = new Map<string, LateWrite>();
  let bytes = 0;
  let isClosed = false;

  const isOver = ({ startedMs }: LateOutcome): boolean => environment.monotonicMs() >= startedMs + parts.executionMs;

  function begin(outcome: LateOutcome, heldBytes: number): LateWrite {
    let delayMs = delayMsFirst;
    let trying: Promise<void> | undefined;
    let ended = false;
    bytes += heldBytes;

    function stop(): void {
      if (ended) return;
      ended = true;
      timer.cancel();
      bytes -= heldBytes;
      writes.delete(outcome.id);
      outcome.onEnd();
    }

    async function attempt(): Promise<void> {
      await outcome.write();
      stop();
    }

    function now(): Promise<void> {
      trying ??= attempt().finally(() => {
        trying = undefined;
      });
      return trying;
    }

    function tryLater(): Timer {
      const pauseMs = upperHalfOf(environment, delayMs);
      delayMs = Math.min(delayMs * 2, delayMsMax);
      // The process lives for it: an answer that was sent is worth waiting for.
      return environment.after(pauseMs, () => void now().catch(again), { hold: true });
    }

    function again(): void {
      if (ended) return;
      if (isOver(outcome)) stop();
      else timer = tryLater();
    }

    let timer = tryLater();
    return { now, stop, fence: outcome.fence };
  }

  return {
    add(outcome) {
      if (isClosed) return "closed";
      const former = writes.get(outcome.id);
      if (former !== undefined && cameLater(former, outcome)) return "overtaken";
      if (isOver(outcome)) return "closed";
      const fits = bytes + outcome.bytes <= limits.lateBytesMax;
      if (writes.size >= limits.lateWritesMax || (!fits && outcome.dropBody === undefined)) return "full";
      if (!fits) outcome.dropBody?.();
      former?.stop();
      const late = begin(outcome, fits ? outcome.bytes : 0);
      writes.set(outcome.id, late);
      return late;
    },
    async flush(id) {
      try {
        await writes.get(id)?.now();
        return true;
      } catch {
        return false;
      }
    },
    get size() {
      return writes.size;
    },
    stop() {
      isClosed = true;
      for (const late of writes.values()) late.stop();
    },
  };
}
