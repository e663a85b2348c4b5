/** What runs in this process in the name of keys, and how closing ends it. */
import { sleep, withDeadline } from "./deadline.ts";
import type { Environment } from "./environment.ts";
import type { LeaseExecution } from "./execution.ts";
import type { Identity } from "./record.ts";
import { localIdOf } from "./scope.ts";

export interface Running {
  /** Until it is done. */
  add(identity: Identity, execution: LeaseExecution): void;
  find(identity: Identity): LeaseExecution | undefined;
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
  const executions = new Map<string, LeaseExecution>();
  const claims = new Set<Promise<void>>();
  let isClosing = false;
  let isClosed = false;

  async function quiet(): Promise<void> {
    while (executions.size > 0 || claims.size > 0) {
      await Promise.allSettled([...[...executions.values()].map((each) => each.done), ...claims]);
      await sleep(environment, 0);
    }
  }

  return {
    add(identity, execution) {
      const id = localIdOf(identity);
      executions.set(id, execution);
      void execution.done.then(() => {
        if (executions.get(id) === execution) executions.delete(id);
      });
    },
    find: (identity) => executions.get(localIdOf(identity)),
    get size() {
      return executions.size;
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
      const left = [...executions.values()];
      await withDeadline(environment, closeMs, idle).catch(() => undefined);
      await Promise.all(left.map((each) => (each.started ? each.handOver() : each.giveBack())));
    },
  };
}
