/** Locks by name, each held by one transaction until it ends; whoever comes first has it first. */
import type { Scheduled } from "../scheduler.ts";
import type { TransactionsPlan } from "./plan.ts";
import type { TransactionsWorld } from "./world.ts";

export const fileLock = "file";

/** What a record is locked by. */
export function lockOf({ locks }: TransactionsPlan, key: string): string {
  return locks === "file" ? fileLock : key;
}

/** As SQLite says it. */
export function locked(): Error {
  return Object.assign(new Error("database is locked"), { errcode: 5 });
}

interface Waiting {
  readonly owner: object;
  readonly had: () => void;
  readonly timer: Scheduled | undefined;
}

export interface Locks {
  /** Calls `had` at once or later, holding it then; `late` when `forMs` are over. Undefined: waits without end. */
  take(name: string, owner: object, forMs: number | undefined, had: () => void, late: () => void): void;
  /** Everything that it holds or waits for. */
  free(owner: object): void;
}

export function createLocks({ scheduler }: TransactionsWorld): Locks {
  const held = new Map<string, object>();
  const queues = new Map<string, Waiting[]>();

  function next(name: string): void {
    const first = queues.get(name)?.shift();
    if (first === undefined) return;
    held.set(name, first.owner);
    first.timer?.cancel();
    // An event of its own, as everything else that a server does.
    scheduler.at(scheduler.nowMs, first.had);
  }

  return {
    take(name, owner, forMs, had, late) {
      const holder = held.get(name);
      if (holder === undefined || holder === owner) {
        held.set(name, owner);
        return had();
      }
      const queue = queues.get(name) ?? [];
      queues.set(name, queue);
      const timer =
        forMs === undefined
          ? undefined
          : scheduler.after(forMs, () => {
              queue.splice(queue.indexOf(waiting), 1);
              late();
            });
      const waiting: Waiting = { owner, had, timer };
      queue.push(waiting);
    },
    free(owner) {
      for (const queue of queues.values()) {
        for (const waiting of queue.filter((each) => each.owner === owner)) {
          waiting.timer?.cancel();
          queue.splice(queue.indexOf(waiting), 1);
        }
      }
      for (const [name, holder] of held) {
        if (holder !== owner) continue;
        held.delete(name);
        next(name);
      }
    },
  };
}
