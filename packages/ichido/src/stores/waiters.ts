/** Callers that wait for a record to change. All of them wake at the first change, or when their own time is over. */
import type { Environment } from "../core/contract/environment.ts";

/** `About`: what a store remembers of a record while a caller waits for it. */
export class Waiters<About> {
  readonly #timers: Pick<Environment, "after">;
  readonly #end: (id: string, about: About) => void;
  readonly #waited = new Map<string, { readonly about: About; readonly wakes: Set<() => void> }>();

  /** `end`: no caller waits for it any more. */
  constructor(timers: Pick<Environment, "after">, end: (id: string, about: About) => void = () => undefined) {
    this.#timers = timers;
    this.#end = end;
  }

  get size(): number {
    return this.#waited.size;
  }

  get(id: string): About | undefined {
    return this.#waited.get(id)?.about;
  }

  /** The one that callers have waited for longest comes first. */
  entries(): [id: string, about: About][] {
    return [...this.#waited].map(([id, { about }]) => [id, about]);
  }

  /** From now on it comes after all others. */
  putLast(id: string): void {
    const waited = this.#waited.get(id);
    if (waited !== undefined && this.#waited.delete(id)) this.#waited.set(id, waited);
  }

  /** `begin`: this is the first one that waits for it. */
  wait(id: string, timeoutMs: number, begin: () => About): Promise<void> {
    let waited = this.#waited.get(id);
    if (waited === undefined) this.#waited.set(id, (waited = { about: begin(), wakes: new Set() }));
    const { about, wakes } = waited;
    return new Promise((resolve) => {
      const wake = (): void => {
        timer.cancel();
        wakes.delete(wake);
        if (wakes.size === 0 && this.#waited.delete(id)) this.#end(id, about);
        resolve();
      };
      const timer = this.#timers.after(timeoutMs, wake, { hold: true });
      wakes.add(wake);
    });
  }

  wake(id: string): void {
    for (const wake of this.#waited.get(id)?.wakes ?? []) wake();
  }

  wakeAll(): void {
    for (const id of this.#waited.keys()) this.wake(id);
  }
}
