/**
 * The same deadline for every call, with one timer for all of them: calls end about in the order they began, so a queue
 * is enough, and a timer of its own for each would cost as much as the rest of the call.
 */
import { DeadlineExceeded } from "../../core/deadline.ts";
import type { Environment, Timer } from "../../core/environment.ts";

export interface Deadlines {
  /** What arrives after the deadline goes to `onLate`. */
  bound<Value>(pending: Promise<Value>, onLate?: (value: Value) => void): Promise<Value>;
}

interface Entry {
  readonly untilMs: number;
  /** Nothing once the call has ended, so that its answer is not kept. */
  expire: (() => void) | undefined;
}

/** Ended entries at the front of the array that are cut off at once. */
const cutMin = 1_024;

export function createDeadlines(environment: Environment, timeoutMs: number): Deadlines {
  let queue: Entry[] = [];
  let head = 0;
  let timer: Timer | undefined;

  function skipEnded(): void {
    while (head < queue.length && queue[head]?.expire === undefined) head += 1;
    if (head < cutMin && head < queue.length) return;
    queue = queue.slice(head);
    head = 0;
  }

  function arm(): void {
    const first = queue[head];
    if (timer !== undefined || first === undefined) return;
    timer = environment.after(Math.max(1, first.untilMs - environment.monotonicMs()), fire);
  }

  function fire(): void {
    timer = undefined;
    const nowMs = environment.monotonicMs();
    for (let at = head; at < queue.length && (queue[at]?.untilMs ?? 0) <= nowMs; at += 1) queue[at]?.expire?.();
    skipEnded();
    arm();
  }

  return {
    bound: (pending, onLate) =>
      new Promise((resolve, reject) => {
        const entry: Entry = {
          untilMs: environment.monotonicMs() + timeoutMs,
          expire() {
            entry.expire = undefined;
            reject(new DeadlineExceeded(`no answer within ${timeoutMs} ms`));
          },
        };
        const end = (): boolean => {
          const open = entry.expire !== undefined;
          entry.expire = undefined;
          if (queue[head] === entry) skipEnded();
          return open;
        };
        queue.push(entry);
        arm();
        pending.then(
          (value) => (end() ? resolve(value) : onLate?.(value)),
          (error: unknown) => {
            if (end()) reject(error as Error);
          },
        );
      }),
  };
}
