import { setTimeout as sleep } from "node:timers/promises";

/** Asks until the answer is there. The deadline is generous: it tells a hang from a slow machine, not fast from slow. */
export async function until<T>(
  what: string,
  ask: () => T | undefined | false | Promise<T | undefined | false>,
  withinMs = 20_000,
  everyMs = 20,
): Promise<T> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
    if (Date.now() > deadline) throw new Error(`not within ${withinMs} ms: ${what}`);
    await sleep(everyMs);
  }
}
