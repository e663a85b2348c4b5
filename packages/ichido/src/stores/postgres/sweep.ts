/** What time does to records: the sweep, and the tick by which the clock is trusted. */
import type { Environment } from "../../core/contract/environment.ts";
import type { SweepRequest, SweepResult, TickRequest, TickResult } from "../../core/contract/store.ts";
import { flagOf, numberOf } from "./row.ts";
import type { Run } from "./run.ts";

/** One transaction of a sweep. Small, so that it never holds many rows, nor for long. */
const sweepBatch = 200;
const sweepLogBatch = 1_000;
const sweepPagesBatch = 50;
/** Longer than a claim may be under way. */
const openLateUs = 30_000_000;
/** Claimed records that one tick looks at. */
const openLooksMax = 200_000;

export async function sweep(
  run: Run,
  { limit, budgetMs }: SweepRequest,
  environment: Environment,
): Promise<SweepResult> {
  const startedMs = environment.monotonicMs();
  let deleted = 0;
  for (;;) {
    const size = Math.min(sweepBatch, limit - deleted);
    const [[trusted, gone, more, alone] = []] = await run("sweep", "conflicts", [String(size)]);
    if (!flagOf(trusted)) return { deleted, more: false, guarded: true };
    if (!flagOf(alone)) return { deleted, more: false, guarded: false, busy: true };
    deleted += numberOf(gone);
    const isOver = deleted >= limit || environment.monotonicMs() - startedMs >= budgetMs;
    if (isOver && flagOf(more)) return { deleted, more: true, guarded: false };
    if (!flagOf(more)) return { deleted, more: await sweepLog(run, startedMs + budgetMs, environment), guarded: false };
  }
}

/** True: there is more to look at. */
async function sweepLog(run: Run, untilMs: number, environment: Environment): Promise<boolean> {
  for (;;) {
    const [[looked] = []] = await run("sweepLog", "conflicts", [String(sweepLogBatch)]);
    const [[pages] = []] = await run("sweepPages", "conflicts", [String(sweepPagesBatch)]);
    if (numberOf(looked) < sweepLogBatch && numberOf(pages) < sweepPagesBatch) return false;
    if (environment.monotonicMs() >= untilMs) return true;
  }
}

export async function tick(run: Run, { intervalMs }: TickRequest): Promise<TickResult> {
  const [row] = await run("tick", "always", [String(intervalMs)]);
  // For people alone: where it fails, the next one looks at more.
  await run("noteOpen", "conflicts", [String(openLateUs), String(openLooksMax)]).catch(() => undefined);
  return { trusted: flagOf(row?.[0]) };
}
