/** Transactions that lost to another one for no fault of their own: undone by the server, so they may run once more. */
import { setTimeout as sleep } from "node:timers/promises";
import type { TransactionRunner } from "ichido/transactions";

const TRIES_MAX = 6;
const PAUSE_MS = 20;

export function runAgainOn<Tx>(
  runner: TransactionRunner<Tx>,
  isTransient: (error: unknown) => boolean,
): TransactionRunner<unknown> {
  async function again<Value>(run: () => Promise<Value>): Promise<Value> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await run();
      } catch (error) {
        // A commit whose answer is missing is not among them: what it did must be asked.
        if (!isTransient(error) || tries >= TRIES_MAX) throw error;
        await sleep(Math.random() * PAUSE_MS * tries);
      }
    }
  }

  const { ask } = runner;
  return {
    dialect: runner.dialect,
    ...(runner.refusesAborted === undefined ? {} : { refusesAborted: runner.refusesAborted }),
    run: (fn, options) => again(() => runner.run(fn, options)),
    ...(ask === undefined ? {} : { ask }),
  };
}
