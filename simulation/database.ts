/**
 * Transactions at the far end: what they wrote and the record they complete are locked until they end, and become visible
 * together. A connection that breaks takes its transaction with it, but only when the server notices.
 */
import type { Identity } from "../packages/ichido/src/core/contract/record.ts";
import type { CompleteRequest } from "../packages/ichido/src/core/contract/store.ts";
import type { Machine } from "./machine.ts";
import { idOf, type World } from "./world.ts";

export interface RowWrite {
  readonly intent: string;
  readonly call: string;
  readonly key: string;
  readonly life: string;
  readonly fence: number;
}

export interface OpenTransaction {
  readonly number: number;
  readonly from: Machine;
  readonly writes: RowWrite[];
  completion: CompleteRequest | undefined;
  state: "open" | "committed" | "rolled-back";
}

export interface Locks {
  readonly isAnyHeld: boolean;
  /** Resolves to false where the row could not be had in time. */
  wait(identity: Identity, forMs: number): Promise<boolean>;
  take(identity: Identity, by: OpenTransaction): void;
  free(by: OpenTransaction): void;
}

export function createLocks(world: World): Locks {
  const held = new Map<string, OpenTransaction>();
  const waiting = new Map<string, (() => void)[]>();
  return {
    get isAnyHeld() {
      return held.size > 0;
    },
    wait(identity, forMs) {
      const id = idOf(identity);
      if (!held.has(id)) return Promise.resolve(true);
      return new Promise((resolve) => {
        const queue = waiting.get(id) ?? [];
        waiting.set(id, queue);
        const timer = world.scheduler.after(forMs, () => {
          queue.splice(queue.indexOf(look), 1);
          resolve(false);
        });
        function look(): void {
          // Whoever came first may have taken it again.
          if (held.has(id)) {
            waiting.get(id)?.push(look);
            return;
          }
          timer.cancel();
          resolve(true);
        }
        queue.push(look);
      });
    },
    take: (identity, by) => void held.set(idOf(identity), by),
    free(by) {
      for (const [id, holder] of held) {
        if (holder !== by) continue;
        held.delete(id);
        const queue = waiting.get(id) ?? [];
        waiting.delete(id);
        // One event each: the first may take the row before the second looks.
        for (const look of queue) world.scheduler.at(world.nowMs, look);
      }
    },
  };
}
