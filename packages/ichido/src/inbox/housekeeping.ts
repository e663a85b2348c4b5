/** Forgetting and counting. */
import type { Environment } from "../core/environment.ts";
import { IchidoError } from "../core/errors.ts";
import { knownOptions, type OptionNames } from "../core/option-checks.ts";
import type { TransactionRunner } from "../core/transaction.ts";
import { numberOf, optionalNumber } from "../stores/shared/columns.ts";
import type { Statements } from "./statement.ts";

export interface SweepBounds {
  /** Rows of one transaction. Default 1000. */
  readonly limit?: number;
  /** Begins no further batch after this long. Default 250. */
  readonly budgetMs?: number;
}

export interface InboxSweep {
  readonly deleted: number;
  /** Whether there may be more. */
  readonly more: boolean;
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
  /** Well above the retention: nobody sweeps. */
  readonly oldestRowMs: number | undefined;
}

const boundNames: OptionNames<SweepBounds> = { limit: true, budgetMs: true };
const limitDefault = 1_000;
const limitMax = 10_000;
const budgetMsDefault = 250;

export async function sweepInbox(
  transactions: TransactionRunner<unknown>,
  statements: Statements,
  environment: Environment,
  ageMs: number,
  bounds: SweepBounds = {},
): Promise<InboxSweep> {
  knownOptions("inbox.sweep", bounds, boundNames);
  const { limit = limitDefault, budgetMs = budgetMsDefault } = bounds;
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > limitMax)
    throw new IchidoError("option-invalid", `limit: expected 1 to ${limitMax}, got ${String(limit)}`);
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
