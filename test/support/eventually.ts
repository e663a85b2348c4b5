import { setTimeout as sleep } from "node:timers/promises";

const eventuallyMs = 5_000;

/** Repeats a check until it passes; fails with its last error when the time is up. */
export async function eventually<T>(check: () => T | Promise<T>, withinMs: number = eventuallyMs): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await sleep(10);
    }
  }
}
