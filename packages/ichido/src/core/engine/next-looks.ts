/** When a reconciler looks at a record that it has left alone: first its callers may, then ever more rarely. */
import { fraction, type Environment } from "../contract/environment.ts";
import { isOnHold, lapsedForMs } from "../record-machine/seen.ts";
import { localIdOf } from "../request/scope.ts";
import type { StoredRecord } from "../contract/store.ts";

type Seen = Pick<StoredRecord, "identity">;

export interface NextLooks {
  isDue(record: Pick<StoredRecord, "identity" | "holdReason" | "leaseLeftMs">): boolean;
  /** The answer was not known yet; `leftMs`: how long patience lasts. */
  postpone(record: Seen, leftMs: number): void;
  /** The record is decided, or another process has it. */
  forget(record: Seen): void;
  /** What was settled elsewhere never comes back to be forgotten by name. */
  forgetOld(): void;
}

/** A record that is not visible yet is asked about after everyMs, then twice that, and so on up to this many times. */
const backoffFactorMax = 64;
/** Records whose next look is remembered. */
const rememberedMax = 10_000;

export function createNextLooks(parts: {
  readonly environment: Environment;
  readonly everyMs: number;
  readonly olderThanMs: number;
}): NextLooks {
  const { environment, everyMs, olderThanMs } = parts;
  const looks = new Map<string, { readonly fromMs: number; readonly tries: number }>();

  function put(id: string, delayMs: number, tries: number): void {
    const isKnown = looks.delete(id);
    if (isKnown || looks.size < rememberedMax) looks.set(id, { fromMs: environment.monotonicMs() + delayMs, tries });
  }

  return {
    isDue(record) {
      if (isOnHold(record)) return false;
      const id = localIdOf(record.identity);
      const next = looks.get(id);
      if (next !== undefined) return next.fromMs <= environment.monotonicMs();
      // Of a lease that lapsed the store tells since when; of one that its owner ended, only that it has.
      const lapsedMs = lapsedForMs(record);
      if (lapsedMs >= olderThanMs) return true;
      put(id, olderThanMs - lapsedMs, 0);
      return false;
    },
    /** Doubling, with full jitter over the upper half, so that processes do not ask in step. */
    postpone({ identity }, leftMs) {
      const id = localIdOf(identity);
      const tries = looks.get(id)?.tries ?? 0;
      const pauseMs = everyMs * Math.min(2 ** tries, backoffFactorMax) * (0.5 + fraction(environment) / 2);
      put(id, Math.min(pauseMs, leftMs), tries + 1);
    },
    forget: ({ identity }) => void looks.delete(localIdOf(identity)),
    forgetOld() {
      const oldestMs = environment.monotonicMs() - everyMs * backoffFactorMax;
      for (const [id, { fromMs }] of looks) if (fromMs < oldestMs) looks.delete(id);
    },
  };
}
