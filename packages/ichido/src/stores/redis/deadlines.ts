/**
 * The same deadline for every call, with one timer for all of them: calls end about in the order they began, so a queue
 * is enough, and a timer of its own for each would cost as much as the rest of the call.
 */
import { DeadlineExceeded } from "../../core/deadline.ts";
import type { Environment, Timer } from "../../core/environment.ts";

/** What becomes of a call. All of it in one place, because each further promise on the way costs every request. */
export interface Ending<Reply, Value> {
  /** A reply in time. */
  decode(reply: Reply): Value | Promise<Value>;
  /** A failure in time, or the deadline. */
  recover(error: unknown, startedMs: number): Value | Promise<Value>;
  /** What arrives after the deadline. */
  readonly onLate?: ((reply: Reply) => void) | undefined;
}

export interface Deadlines {
  bound<Reply, Value>(pending: Promise<Reply>, ending: Ending<Reply, Value>): Promise<Value>;
  /** Whether a call is under way. */
  readonly busy: boolean;
}

interface Entry {
  readonly startedMs: number;
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
    if (head === queue.length) queue.length = 0;
    else if (head < cutMin) return;
    else queue = queue.slice(head);
    head = 0;
  }

  function arm(nowMs: number): void {
    const first = queue[head];
    if (timer !== undefined || first === undefined) return;
    timer = environment.after(Math.max(1, first.startedMs + timeoutMs - nowMs), fire);
  }

  function fire(): void {
    timer = undefined;
    const nowMs = environment.monotonicMs();
    const dueMs = nowMs - timeoutMs;
    // Those that end make `head` move on: what was due is taken first.
    const due = queue.slice(head).filter(({ startedMs }) => startedMs <= dueMs);
    for (const entry of due) entry.expire?.();
    skipEnded();
    arm(nowMs);
  }

  return {
    get busy() {
      return head < queue.length;
    },
    bound: (pending, ending) =>
      new Promise((resolve, reject) => {
        const startedMs = environment.monotonicMs();
        const entry: Entry = {
          startedMs,
          expire() {
            entry.expire = undefined;
            fail(new DeadlineExceeded(`no answer within ${timeoutMs} ms`));
          },
        };
        const end = (): boolean => {
          const open = entry.expire !== undefined;
          entry.expire = undefined;
          if (queue[head] === entry) skipEnded();
          return open;
        };
        const fail = (error: unknown): void => {
          try {
            resolve(ending.recover(error, startedMs));
          } catch (final) {
            reject(final as Error);
          }
        };
        queue.push(entry);
        arm(startedMs);
        pending.then(
          (reply) => {
            if (!end()) return ending.onLate?.(reply);
            try {
              resolve(ending.decode(reply));
            } catch (error) {
              reject(error as Error);
            }
            return undefined;
          },
          (error: unknown) => {
            if (end()) fail(error);
          },
        );
      }),
  };
}
