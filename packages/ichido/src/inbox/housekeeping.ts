/** Forgetting, counting, and looking up. */
import type { Environment } from "../core/contract/environment.ts";
import { integerOption, knownOptions, type OptionNames } from "../core/contract/option-checks.ts";
import type { TransactionHandle, TransactionRunner } from "../core/contract/transaction.ts";
import { numberOf, optionalNumber, optionalText, textOf } from "../sql/columns.ts";
import type { InboxDeadLetter, InboxDeadReason } from "./dead-letters.ts";
import { columnOfId, isMessageId } from "./identity.ts";
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
  /**
   * `dead`: it was given up, and waits for a person. `replaying`: a person lets it run again, at the next pass of a consumer.
   * `discarded`: it was given up, and a person let it go, or gave it to other handlers. `parked`: it failed, or stands
   * behind one that did, and is tried again.
   */
  readonly outcome: "processed" | "dead" | "replaying" | "discarded" | "parked";
  /** Of what waits: since when. */
  readonly atMs: number;
  /** Of a dead letter. With `conflict`, the message of this id that came first has an entry of its own. */
  readonly reason?: InboxDeadReason;
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

/** Contents that one id may have for a handler, told at most. */
const contentsMax = 100;
/** Names that handlers ever had. */
const handlersMax = 1_000;

function entryOf(handler: string, row: Readonly<Record<string, unknown>>): InboxEntry {
  const [atMs, isDead] = [numberOf(row, "at_ms"), numberOf(row, "dead") === 1];
  const [state, reason] = [textOf(row, "state"), textOf(row, "reason") as InboxDeadReason];
  if (numberOf(row, "parked") === 1) return { handler, atMs, outcome: "parked", attempts: numberOf(row, "attempts") };
  // Of a letter that ran again its consumer removes what is left.
  if (state === "" || (state === "replaying" && !isDead))
    return { handler, atMs, outcome: isDead ? "discarded" : "processed" };
  return { handler, atMs, outcome: state as InboxDeadLetter["state"], reason };
}

export async function entriesOf(
  transactions: TransactionRunner<unknown>,
  statements: Statements,
  id: string,
): Promise<readonly InboxEntry[]> {
  if (!isMessageId(id)) return [];
  const values = { id: columnOfId(id), limit: contentsMax };
  return transactions.run(async (_tx, handle) => {
    const entries: InboxEntry[] = [];
    let after = "";
    for (let handlers = 0; handlers < handlersMax; handlers += 1) {
      const [next] = (await statements(handle, "nextHandler", { after })).rows;
      const handler = next && optionalText(next, "handler");
      if (handler === undefined) break;
      const { rows } = await statements(handle, "findAll", { ...values, handler });
      entries.push(...rows.map((row) => entryOf(handler, row)));
      after = handler;
    }
    return entries;
  });
}
