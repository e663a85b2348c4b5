/** What time does to records: the sweep, and the tick by which the clock is trusted. */
import type { Environment } from "../../core/contract/environment.ts";
import type { SweepRequest, SweepResult, TickRequest, TickResult } from "../../core/contract/store.ts";
import { flagOf, numberOf } from "./row.ts";
import type { Run } from "./run.ts";

/** One transaction of a sweep. Small, so that it never holds many rows, nor for long. */
const sweepBatch = 200;

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
    if (!flagOf(more) || deleted >= limit || environment.monotonicMs() - startedMs >= budgetMs) {
      return { deleted, more: flagOf(more), guarded: false };
    }
  }
}

export async function tick(run: Run, { intervalMs }: TickRequest): Promise<TickResult> {
  const [row] = await run("tick", "always", [String(intervalMs)]);
  return { trusted: flagOf(row?.[0]) };
}
