/** What runs in this process in the name of keys, and how closing ends it. */
import { sleep, withDeadline } from "../contract/deadline.ts";
import type { Environment } from "../contract/environment.ts";
import type { LeaseAttempt } from "./lease-attempt.ts";
import type { Identity } from "../contract/record.ts";
import { localIdOf } from "../request/scope.ts";

export interface Running {
  /** Until it is done. */
  add(attempt: LeaseAttempt): void;
  find(identity: Identity): LeaseAttempt | undefined;
  readonly size: number;
  /** A claim under way may be granted: closing waits until it is given back. */
  track(claim: Promise<void>): void;
  readonly isClosing: boolean;
  /** Closing waits no longer: nothing more is claimed. */
  readonly isClosed: boolean;
  /** `idle`: resolves when no transaction is open. */
  close(idle: () => Promise<void>): Promise<void>;
}

export function createRunning(environment: Environment, closeMs: number): Running {
  const attempts = new Map<string, LeaseAttempt>();
  const claims = new Set<Promise<void>>();
  let isClosing = false;
  let isClosed = false;

  async function quiet(): Promise<void> {
    while (attempts.size > 0 || claims.size > 0) {
      await Promise.allSettled([...[...attempts.values()].map((each) => each.done), ...claims]);
      await sleep(environment, 0);
    }
  }

  return {
    add(attempt) {
      const id = localIdOf(attempt.ask.identity);
      attempts.set(id, attempt);
      void attempt.done.then(() => {
        if (attempts.get(id) === attempt) attempts.delete(id);
      });
    },
    find: (identity) => attempts.get(localIdOf(identity)),
    get size() {
      return attempts.size;
    },
    track(claim) {
      claims.add(claim);
      void claim.finally(() => claims.delete(claim));
    },
    get isClosing() {
      return isClosing;
    },
    get isClosed() {
      return isClosed;
    },
    async close(idle) {
      isClosing = true;
      await withDeadline(environment, closeMs, quiet).catch(() => undefined);
      isClosed = true;
      const left = [...attempts.values()];
      await withDeadline(environment, closeMs, idle).catch(() => undefined);
      await Promise.all(left.map((each) => (each.started ? each.handOver() : each.giveBack())));
    },
  };
}
