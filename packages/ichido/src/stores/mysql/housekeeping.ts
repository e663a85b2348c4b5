/** Ticks that make expiry trustworthy, and sweeps that reclaim space in small bites. */
import type { SweepRequest, SweepResult, TickRequest, TickResult } from "../../core/contract/store.ts";
import { usOf } from "../../core/record-machine/record.ts";
import { isTrusted } from "../../core/record-machine/ticks.ts";
import { integerOf } from "./client.ts";
import type { Row } from "./client.ts";
import type { Dialect, Value } from "./dialect.ts";
import { binaryOf, labelledOf, tickOf } from "./rows.ts";
import { forgetLabels } from "./labels.ts";
import type { Run } from "./session.ts";
import { bufferOf } from "../../sql/statement.ts";
import { text } from "./values.ts";

/** Records in one statement of a sweep: its locks are held for no longer than these take to delete. */
const sweepMax = 100;

export async function readClock(
  run: Run,
  dialect: Dialect,
): Promise<{ readonly nowUs: number; readonly trusted: boolean }> {
  const statement = dialect.statement("clock");
  const [row = {} as Row] = (await run(statement.sql, [])).rows;
  const nowUs = integerOf(row["now_us"]);
  return { nowUs, trusted: isTrusted(tickOf(row), nowUs) };
}

export async function tick(run: Run, dialect: Dialect, request: TickRequest): Promise<TickResult> {
  const statement = dialect.statement("tick");
  await run(statement.sql, statement.bind({ intervalUs: usOf(request.intervalMs) }));
  return { trusted: (await readClock(run, dialect)).trusted };
}

/**
 * On one connection, which alone holds the lock against other sweepers. One that cannot give the lock back fails here,
 * and the pool then drops it, and the lock with it.
 */
export async function sweepAlone(run: Run, dialect: Dialect, request: SweepRequest): Promise<SweepResult> {
  const prefix = text("tablePrefix", dialect.prefix);
  const lock = dialect.statement("lockSweep");
  const [row] = (await run(lock.sql, lock.bind({ prefix }))).rows;
  if (integerOf(row?.["held"] ?? 0) !== 1) return { deleted: 0, more: false, guarded: false, busy: true };
  const unlock = dialect.statement("unlockSweep");
  const giveBack = (): Promise<unknown> => run(unlock.sql, unlock.bind({ prefix }));
  let result: SweepResult;
  try {
    result = await sweep(run, dialect, request);
  } catch (error) {
    await giveBack().catch(() => undefined);
    throw error;
  }
  await giveBack();
  return result;
}

async function sweep(run: Run, dialect: Dialect, request: SweepRequest): Promise<SweepResult> {
  const start = await readClock(run, dialect);
  if (!start.trusted) return { deleted: 0, more: false, guarded: true };
  const pick = dialect.statement("sweepPick");
  let deleted = 0;
  let asked = 0;
  while (asked < request.limit) {
    const limit = Math.min(sweepMax, request.limit - asked);
    const { rows } = await run(pick.sql, pick.bind({ limit }));
    if (rows.length === 0) return { deleted, more: false, guarded: false };
    asked += rows.length;
    deleted += await remove(run, dialect, rows);
    if (rows.length < limit) return { deleted, more: false, guarded: false };
    // By the store's clock, as everything here; one that jumps ends a sweep early, and the next one begins with the guard.
    const now = await readClock(run, dialect);
    if (!now.trusted || now.nowUs - start.nowUs >= usOf(request.budgetMs)) break;
  }
  return { deleted, more: true, guarded: false };
}

async function remove(run: Run, dialect: Dialect, rows: readonly Row[]): Promise<number> {
  const identities = (some: readonly Row[]): Value[] =>
    some.flatMap((row) => [bufferOf(binaryOf(row["key"])), bufferOf(binaryOf(row["scope_hash"]))]);
  const stepped = rows.filter((row) => integerOf(row["with_steps"]) === 1);
  if (stepped.length > 0) await run(dialect.sweepSteps(stepped.length), identities(stepped));
  const { affected } = await run(dialect.sweep(rows.length), identities(rows));
  // Afterwards: a label without a record is only in the way, a record without its labels could not be found.
  await forgetLabels(run, dialect, rows.map(labelledOf));
  return affected;
}
