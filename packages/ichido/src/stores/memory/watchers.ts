import type { Environment } from "../../core/contract/environment.ts";

/** Those who wait for a record to change. All of them wake at the first change, or when their own time is over. */
export interface Watchers {
  wait(id: string, timeoutMs: number): Promise<void>;
  wake(id: string): void;
  wakeAll(): void;
}

export function createWatchers(timers: Pick<Environment, "after">): Watchers {
  const waiting = new Map<string, Set<() => void>>();

  function wake(id: string): void {
    const callbacks = waiting.get(id);
    waiting.delete(id);
    for (const callback of callbacks ?? []) callback();
  }

  return {
    wait: (id, timeoutMs) =>
      new Promise((resolve) => {
        const callbacks = waiting.get(id) ?? new Set();
        waiting.set(id, callbacks);
        const timer = timers.after(timeoutMs, () => {
          callbacks.delete(done);
          if (callbacks.size === 0 && waiting.get(id) === callbacks) waiting.delete(id);
          resolve();
        });
        function done(): void {
          timer.cancel();
          resolve();
        }
        callbacks.add(done);
      }),
    wake,
    wakeAll() {
      for (const id of waiting.keys()) wake(id);
    },
  };
}
