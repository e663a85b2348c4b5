/** Reclaiming space, a few records per transaction, so that claims of other callers and processes come between. */
import { IchidoError } from "../../core/contract/errors.ts";
import type { SweepRequest, SweepResult, TickRequest, TickResult } from "../../core/contract/store.ts";
import { floorAfter, usOf } from "../../core/record-machine/record.ts";
import { isTrusted, nextTick } from "../../core/record-machine/ticks.ts";
import { leaseEndMaxUs } from "../../core/record-machine/view.ts";
import { readTick } from "./claim.ts";
import { bytes, integer, text } from "./row.ts";
import type { Session } from "./session.ts";

/** A claim in the same iteration of the event loop waits for these to go: about half a millisecond. */
const recordsPerTransaction = 64;
/**
 * Longer than claims of other processes hold the file's one write lock: a file that is locked for longer is not swept
 * now.
 */
const lockWaitMs = 1_000;
/** A log longer than this is cut back to nothing once every reader has moved on. */
const logFramesMax = 4_000;

/** A look at each is cheaper than the removal of a record. */
const attemptsPerTransaction = 256;
/** Of the log; a page is a hundred kilobytes at most, as a rule. */
const pagesPerTransaction = 16;
const processesPerTransaction = 64;
/** A record that waits longer for a person tells no process any more. */
const processKeptUs = 90 * 86_400_000_000;
/** A claim on a transaction that is still open is not seen yet, but its attempts may be. */
const lateUs = 3_600_000_000;

const monotonicMs = performance.now.bind(performance);

export async function sweep(session: Session, request: SweepRequest): Promise<SweepResult> {
  const endMs = monotonicMs() + request.budgetMs;
  let deleted = 0;
  for (;;) {
    const limit = Math.min(recordsPerTransaction, request.limit - deleted);
    const batch = await session.queue.tryWrite(() => sweepLocked(session, limit), lockWaitMs);
    if (batch === "guarded") return { deleted, more: false, guarded: true };
    if (batch === "busy") return { deleted, more: false, guarded: false, busy: true };
    deleted += batch;
    if (batch < limit) {
      const more = await sweepLog(session, endMs);
      await session.queue.read(() => cutLog(session));
      return { deleted, more, guarded: false };
    }
    if (deleted >= request.limit || monotonicMs() >= endMs) return { deleted, more: true, guarded: false };
  }
}

/** Attempts that came after their record went, or never had one. True: there is more to look at. */
async function sweepLog(session: Session, endMs: number): Promise<boolean> {
  for (;;) {
    const looked = await session.queue.tryWrite(() => sweepLogLocked(session), lockWaitMs);
    if (looked === "busy") return false;
    const pages = await session.queue.tryWrite(() => sweepPagesLocked(session), lockWaitMs);
    if (pages === "busy" || (looked < attemptsPerTransaction && pages < pagesPerTransaction)) return false;
    if (monotonicMs() >= endMs) return true;
  }
}

/** Pages have no record to go with: they go by their own time. */
function sweepPagesLocked({ connection, statements, nowUs }: Session): number {
  const now = nowUs();
  connection.run(statements.sweepProcesses, now - processKeptUs, processesPerTransaction);
  return connection.run(statements.sweepPages, now, pagesPerTransaction);
}

function sweepLogLocked(session: Session): number {
  const { connection, statements } = session;
  const swept = connection.get(statements.logSwept);
  const after = swept === undefined ? 0 : integer(swept, "place");
  const rows = connection.all(statements.sweepLogPick, after, session.nowUs() - lateUs, attemptsPerTransaction);
  for (const row of rows) if (row["recorded"] === 0) connection.run(statements.sweepAttempt, integer(row, "place"));
  const last = rows.at(-1);
  if (last !== undefined) connection.run(statements.setLogSwept, integer(last, "place"));
  return rows.length;
}

function sweepLocked(session: Session, limit: number): number | "guarded" {
  const { connection, statements } = session;
  const nowUs = session.nowUs();
  if (!isTrusted(readTick(session), nowUs)) return "guarded";
  const expired = connection.all(statements.sweepPick, nowUs, nowUs, leaseEndMaxUs(nowUs), limit);
  const rows = [...expired, ...connection.all(statements.sweepPickSpent, nowUs, nowUs, limit - expired.length)];
  const floor = rows.reduce((sum, row) => floorAfter(sum, integer(row, "fence")), 0);
  if (rows.length > 0) connection.run(statements.raiseFence, floor);
  for (const row of rows) {
    const where = [text(row, "key"), bytes(row, "scope_hash")] as const;
    if (integer(row, "steps_started") > 0) connection.run(statements.forgetSteps, ...where);
    if (row["labels"] !== null) connection.run(statements.forgetLabels, ...where);
    connection.run(statements.forgetResources, ...where);
    connection.run(statements.forgetAttempts, ...where);
    connection.run(statements.forgetTwins, ...where, ...where);
    connection.run(statements.sweep, integer(row, "row"));
  }
  return rows.length;
}

/** SQLite reuses its log but never shrinks it by itself; a reader that stayed long may have let it grow. */
function cutLog(session: Session): void {
  const { connection } = session;
  const passive = connection.get("PRAGMA wal_checkpoint(PASSIVE)");
  if (passive === undefined) return;
  if (integer(passive, "log") > logFramesMax && passive["log"] === passive["checkpointed"]) {
    connection.get("PRAGMA wal_checkpoint(TRUNCATE)");
  }
}

export function tick(session: Session, request: TickRequest): Promise<TickResult> {
  if (!(request.intervalMs > 0)) {
    throw new IchidoError("option-invalid", `intervalMs: expected more than 0, got ${request.intervalMs}`);
  }
  return session.queue.write(() => {
    const nowUs = session.nowUs();
    const row = nextTick(readTick(session), nowUs, usOf(request.intervalMs));
    session.connection.run(session.statements.tick, row.lastUs, row.intervalUs, row.steadySinceUs);
    return { trusted: isTrusted(row, nowUs) };
  });
}
