/** One deadline for every call, and what becomes of it. */
import { Deadlines as Queue } from "../../core/contract/deadlines.ts";
import type { Environment } from "../../core/contract/environment.ts";

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

export function createDeadlines(environment: Environment, timeoutMs: number): Deadlines {
  const queue = new Queue(environment, timeoutMs);
  return {
    get busy() {
      return queue.busy;
    },
    bound: (pending, ending) =>
      new Promise((resolve, reject) => {
        const startedMs = environment.monotonicMs();
        const settle = (value: () => Parameters<typeof resolve>[0]): void => {
          try {
            resolve(value());
          } catch (error) {
            reject(error as Error);
          }
        };
        const fail = (error: unknown): void => settle(() => ending.recover(error, startedMs));
        const end = queue.begin(fail);
        pending.then(
          (reply) => (end() ? settle(() => ending.decode(reply)) : ending.onLate?.(reply)),
          (error: unknown) => {
            if (end()) fail(error);
          },
        );
      }),
  };
}
