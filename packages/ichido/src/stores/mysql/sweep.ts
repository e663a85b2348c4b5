/** Ticks that make expiry trustworthy, and sweeps that reclaim space in small bites. */
import type { SweepRequest, SweepResult, TickRequest, TickResult } from "../../core/contract/store.ts";
import { usOf } from "../../core/record-machine/record.ts";
import { isTrusted } from "../../core/record-machine/ticks.ts";
import { integerOf, type Row } from "./client.ts";
import type { Dialect, Value } from "./dialect.ts";
import { binaryOf, labelledOf, tickOf } from "./row.ts";
import { sweepLabels } from "./labels.ts";
import type { Run } from "./session.ts";
import { bufferOf } from "../../sql/statement.ts";
import { text } from "./values.ts";

/** Records in one statement of a sweep: its locks are held for no longer than these take to delete. */
const sweepMax = 100;
const sweepLogMax = 1_000;
const sweepPagesMax = 50;
/** A record that waits longer for a person tells no process any more. */
const processKeptUs = 90 * 86_400_000_000;
/** Younger attempts are left to the next time. */
const lateUs = 3_600_000_000;

export async function readClock(
  run: Run,
  dialect: Dialect,
): Promise<{ readonly nowUs: number; readonly trusted: boolean }> {
  const [row = {} as Row] = (await dialect.send(run, "clock")).rows;
  const nowUs = integerOf(row["now_us"]);
  return { nowUs, trusted: isTrusted(tickOf(row), nowUs) };
}

export async function tick(run: Run, dialect: Dialect, request: TickRequest): Promise<TickResult> {
  await dialect.send(run, "tick", { intervalUs: usOf(request.intervalMs) });
  return { trusted: (await readClock(run, dialect)).trusted };
}

/**
 * On one connection, which alone holds the lock against other sweepers. A connection that cannot give the lock back
 * fails here; the pool then drops it, and the lock with it.
 */
export async function sweepAlone(run: Run, dialect: Dialect, request: SweepRequest): Promise<SweepResult> {
  const prefix = text("tablePrefix", dialect.prefix);
  const [row] = (await dialect.send(run, "lockSweep", { prefix })).rows;
  if (integerOf(row?.["held"] ?? 0) !== 1) return { deleted: 0, more: false, guarded: false, busy: true };
  const giveBack = (): Promise<unknown> => dialect.send(run, "unlockSweep", { prefix });
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
  let trustedUs = start.nowUs;
  if (!start.trusted) return { deleted: 0, more: false, guarded: true };
  let deleted = 0;
  let asked = 0;
  while (asked < request.limit) {
    const limit = Math.min(sweepMax, request.limit - asked);
    const { rows } = await dialect.send(run, "sweepPick", { trustedUs, limit });
    asked += rows.length;
    if (rows.length > 0) deleted += await remove(run, dialect, rows, trustedUs);
    if (rows.length < limit) return { deleted, more: await sweepLog(run, dialect), guarded: false };
    // By the store's clock, as everything here. A clock that jumps ends this sweep early; the next sweep checks the
    // ticks first.
    const now = await readClock(run, dialect);
    if (!now.trusted || now.nowUs - start.nowUs >= usOf(request.budgetMs)) break;
    trustedUs = now.nowUs;
  }
  return { deleted, more: true, guarded: false };
}

/** `trustedUs`: what is past its retention is judged by the moment that was trusted. */
async function remove(run: Run, dialect: Dialect, rows: readonly Row[], trustedUs: number): Promise<number> {
  const identities = (some: readonly Row[]): Value[] =>
    some.flatMap((row) => [bufferOf(binaryOf(row["key"])), bufferOf(binaryOf(row["scope_hash"]))]);
  const judged = [...identities(rows), trustedUs];
  // All but attempts goes before its record, judged as that is: nobody looks for what is left behind without one.
  const stepped = rows.filter((row) => integerOf(row["with_steps"]) === 1);
  if (stepped.length > 0) await run(dialect.sweepSteps(stepped.length), [...identities(stepped), trustedUs]);
  await sweepLabels(run, dialect, rows.map(labelledOf), trustedUs);
  await run(dialect.sweepResources(rows.length), judged);
  for (const side of ["first_key", "second_key"] as const) await run(dialect.sweepTwins(rows.length, side), judged);
  const { affected } = await run(dialect.sweep(rows.length), judged);
  await run(dialect.sweepAttempts(rows.length), identities(rows));
  return affected;
}

/** Attempts that came after their record went, or never had one. True: there is more to look at. */
async function sweepLog(run: Run, dialect: Dialect): Promise<boolean> {
  const { rows } = await dialect.send(run, "sweepLogPick", { lateUs, limit: sweepLogMax });
  const orphans = rows.filter((row) => integerOf(row["recorded"]) === 0).map((row) => integerOf(row["id"]));
  if (orphans.length > 0) await run(dialect.sweepLog(orphans.length), orphans);
  const pages = (await dialect.send(run, "sweepPages", { limit: sweepPagesMax })).affected;
  await dialect.send(run, "sweepProcesses", { keptUs: processKeptUs, limit: sweepMax });
  const last = rows.at(-1);
  if (last === undefined) return pages === sweepPagesMax;
  const reached = { writtenUs: integerOf(last["written_us"]), place: integerOf(last["id"]) };
  await dialect.send(run, "setLogSwept", reached);
  return rows.length === sweepLogMax || pages === sweepPagesMax;
}
