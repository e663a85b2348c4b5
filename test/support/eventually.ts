import { setTimeout as sleep } from "node:timers/promises";

const eventuallyMs = 5_000;
const pauseMsMax = 50;

/**
 * Repeats a check until it passes; fails with its last error when the time is up. The longer it has waited, the seldomer it
 * looks: most checks ask a server, and what they wait for needs the machine as well.
 */
export async function eventually<T>(check: () => T | Promise<T>, withinMs: number = eventuallyMs): Promise<T> {
  const beganMs = performance.now();
  for (;;) {
    try {
      return await check();
    } catch (error) {
      const waitedMs = performance.now() - beganMs;
      if (waitedMs > withinMs) throw error;
      await sleep(Math.min(pauseMsMax, 10 + waitedMs / 10));
    }
  }
}
