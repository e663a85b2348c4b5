/**
 * What this process has to say of a record goes to the store before any claim of it, by a caller, a reconciler or a person:
 * a lease that lapsed while the outcome was on its way, or waited for the store, would let them take the record over.
 */
import { withDeadline } from "../contract/deadline.ts";
import type { Environment } from "../contract/environment.ts";
import type { LateWrites } from "./late-writes.ts";
import type { Running } from "./running.ts";
import type { Identity } from "../contract/record.ts";
import { localIdOf } from "../request/scope.ts";

export interface OwnOutcomes {
  /** There may be something to wait for. */
  has(identity: Identity): boolean;
  /** False: the store does not take it, in the time of one call. */
  write(identity: Identity): Promise<boolean>;
}

export function createOwnOutcomes(parts: {
  readonly environment: Environment;
  readonly running: Running;
  readonly lateWrites: LateWrites;
  readonly timeoutMs: number;
}): OwnOutcomes {
  const { environment, running, lateWrites, timeoutMs } = parts;

  async function writeAll(identity: Identity): Promise<boolean> {
    let heard: Promise<unknown> | undefined;
    for (;;) {
      const sent = running.find(identity)?.sent;
      if (sent === undefined || sent === heard) return lateWrites.flush(localIdOf(identity));
      heard = sent;
      await sent.catch(() => undefined);
    }
  }

  const has = (identity: Identity): boolean => lateWrites.size > 0 || running.find(identity)?.sent !== undefined;

  return {
    has,
    // A caller waits for it.
    write: async (identity) =>
      !has(identity) || withDeadline(environment, timeoutMs, () => writeAll(identity)).catch(() => false),
  };
}
