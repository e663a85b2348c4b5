/**
 * Requests that one iteration of the event loop brings are decided together at its end. Each step of the way then runs
 * for all of them before the next one does: a processor that goes through all the code of a request again and again,
 * one request at a time, mostly waits for that code. A single request waits for nothing but the end of its iteration.
 *
 * For Node alone: elsewhere a request that ends may take its callbacks with it, and here others wait for them.
 */
// Not the global one, which a test may replace.
import { setImmediate } from "node:timers";

let end: Promise<void> | undefined;

export function endOfIteration(): Promise<void> {
  end ??= new Promise((resolve) => {
    setImmediate(() => {
      end = undefined;
      resolve();
    });
  });
  return end;
}
