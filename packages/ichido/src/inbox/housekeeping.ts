/** Forgetting, counting, and looking up. */
import type { Environment } from "../core/contract/environment.ts";
import { integerOption, knownOptions, type OptionNames } from "../core/contract/option-checks.ts";
import type { TransactionHandle, TransactionRunner } from "../core/contract/transaction.ts";
import { numberOf, optionalNumber, textOf } from "../sql/columns.ts";
import type { Statements } from "./statement.ts";

export interface InboxSweepBounds {
  /** Rows of one transaction. Default 1000. */
  readonly limit?: number;
  /** Begins no further batch after this long. Default 250. */
  readonly budgetMs?: number;
}

export interface InboxSweepResult {
  readonly deleted: number;
  /** Whether there may be more. */
  readonly more: boolean;
  /**
   * Nothing was forgotten, and will not be for so long: the database's clock jumped, or no process swept for longer
   * than a quarter of the retention; the two look alike.
   */
  readonly waitsMs?: number;
}

export interface InboxStats {
  /** Messages that are remembered as processed. */
  readonly processed: number;
  readonly dead: number;
  /** Dead letters that wait for a consumer's next pass. */
  readonly replaying: number;
  readonly oldestDeadMs: number | undefined;
  /** Well above a consumer's `replayMs`: no consumer has the handler that is to run it. */
  readonly oldestReplayingMs: number | undefined;
  /** Messages that failed and wait for their next attempt, and those behind them. */
  readonly parked: number;
  readonly oldestParkedMs: number | undefined;
  /** Well above the retention: no process sweeps. */
  readonly oldestRowMs: number | undefined;
}

export interface InboxEntry {
  readonly handler: string;
  /** `dead`: it was given up, and waits for a person. `parked`: it failed, or stands behind one that did, and is tried again. */
  readonly outcome: "processed" | "dead" | "parked";
  /** Of what is parked: since when. */
  readonly atMs: number;
  /** Of what is parked: how often it was tried; 0 for what stands behind another of its key. */
  readonly attempts?: number;
}

const boundNames: OptionNames<InboxSweepBounds> = { limit: true, budgetMs: true };
const limitDefault = 1_000;
const limitMax = 10_000;
const budgetMsDefault = 250;

/** Sweeps that are further apart than this, and than a quarter of the retention, may be a jump of the clock. */
const apartMsMin = 600_000;

/**
 * After a jump ages say nothing: what was processed a minute ago may look older than the retention. What stood there then is
 * kept for a whole retention more.
 */
async function clockWaitsMs(handle: TransactionHandle, statements: Statements, ageMs: number): Promise<number> {
  const [row] = (await statements(handle, "readClock")).rows;
  if (row === undefined) return 0;
  const [nowMs, lastMs] = [numberOf(row, "now_ms"), numberOf(row, "last_ms")];
  const apartMs = nowMs - lastMs;
  const isSteady = Math.abs(apartMs) <= Math.max(apartMsMin, ageMs / 4);
  const steadyMs = isSteady ? numberOf(row, "steady_ms") : nowMs;
  await statements(handle, "noteSweep", { now_ms: nowMs, steady_ms: steadyMs });
  return steadyMs === 0 ? 0 : Math.max(0, steadyMs + ageMs - nowMs);
}

export async function sweepInbox(
  transactions: TransactionRunner<unknown>,
  statements: Statements,
  environment: Environment,
  ageMs: number,
  bounds: InboxSweepBounds = {},
): Promise<InboxSweepResult> {
  knownOptions("inbox.sweep", bounds, boundNames);
  const { limit = limitDefault, budgetMs = budgetMsDefault } = bounds;
  integerOption("limit", limit, 1, limitMax);
  const waitsMs = await transactions.run((_tx, handle) => clockWaitsMs(handle, statements, ageMs));
  if (waitsMs > 0) return { deleted: 0, more: false, waitsMs };
  const untilMs = environment.monotonicMs() + budgetMs;
  let deleted = 0;
  for (const verb of ["sweep", "sweepStarts"] as const) {
    for (;;) {
      const { affected } = await transactions.run((_tx, handle) => statements(handle, verb, { age_ms: ageMs, limit }));
      deleted += affected;
      if (affected < limit) break;
      if (environment.monotonicMs() >= untilMs) return { deleted, more: true };
    }
  }
  return { deleted, more: false };
}

export async function statsOf(transactions: TransactionRunner<unknown>, statements: Statements): Promise<InboxStats> {
  const { rows } = await transactions.run((_tx, handle) => statements(handle, "stats"));
  const row = rows[0] ?? {};
  return {
    processed: numberOf(row, "processed_rows"),
    dead: numberOf(row, "dead_rows"),
    replaying: numberOf(row, "replaying_rows"),
    oldestDeadMs: optionalNumber(row, "oldest_dead_ms"),
    oldestReplayingMs: optionalNumber(row, "oldest_replaying_ms"),
    parked: numberOf(row, "parked_rows"),
    oldestParkedMs: optionalNumber(row, "oldest_parked_ms"),
    oldestRowMs: optionalNumber(row, "oldest_row_ms"),
  };
}

export async function entriesOf(
  transactions: TransactionRunner<unknown>,
  statements: Statements,
  id: string,
): Promise<readonly InboxEntry[]> {
  const { rows } = await transactions.run((_tx, handle) => statements(handle, "findAll", { id }));
  return rows.map((row) => {
    const [handler, atMs] = [textOf(row, "handler"), numberOf(row, "processed_ms")];
    if (numberOf(row, "parked") === 1) return { handler, atMs, outcome: "parked", attempts: numberOf(row, "attempts") };
    return { handler, atMs, outcome: numberOf(row, "dead") === 1 ? "dead" : "processed" };
  });
}
