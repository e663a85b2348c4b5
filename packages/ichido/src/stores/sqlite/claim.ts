/**
 * Claims. The record is looked at without the write lock first: a completed, mismatching or live record is a true
 * answer at the instant of that read, and `completed` stays true, so replays and conflicts write nothing and never
 * wait. Everything else is decided again under the lock.
 */
import type { ClaimRequest, ClaimResult } from "../../core/contract/store.ts";
import type { TransactionHandle } from "../../core/contract/transaction.ts";
import {
  born,
  grantOf,
  held,
  isRefusal,
  judgeClaim,
  noted,
  refusalOf,
  stillProcessing,
  type ClaimVerdict,
  type Refusal,
} from "../../core/record-machine/claim.ts";
import type { HeldRecord, Moment } from "../../core/record-machine/record.ts";
import { isTrusted, type TickRow } from "../../core/record-machine/ticks.ts";
import { isExpired } from "../../core/record-machine/view.ts";
import { encodeLabels } from "../encoding.ts";
import type { Connection, Row, SqliteValue } from "./database.ts";
import { isBusy } from "../../drivers/sqlite-errors.ts";
import { talkLater, talkNow, type Talk } from "../../sql/talk.ts";
import { requireDialect } from "../joined-transaction.ts";
import { often } from "./owned.ts";
import { birthValues, heldOf, identityValues, integer, orNull, plainRow, type Held } from "./row.ts";
import type { Session } from "./session.ts";
import type { Statements } from "./statements.ts";

/**
 * A claim as the statements it asks for, one after the other, so that the same rules run on the store's own connection,
 * which answers at once, and on the caller's transaction, which answers later. Each is answered with its first row, or
 * with the number of rows it changed.
 */
interface Wanted {
  readonly sql: string;
  readonly values: readonly SqliteValue[];
  readonly returnsRows: boolean;
}
type Claiming<Result> = Talk<Wanted, Row | number | undefined, Result>;

export async function claim(session: Session, request: ClaimRequest): Promise<ClaimResult> {
  const seen = await session.queue.read(() => runOn(session.connection, answerOf(session, request)));
  return seen ?? session.queue.write(() => runOn(session.connection, claimLocked(session, request)));
}

/**
 * On the caller's transaction, under the write lock; where the transaction cannot have the lock, the answer is that
 * another attempt is at work. The record is not visible before the commit.
 */
export async function claimWithin(
  session: Session,
  request: ClaimRequest,
  transaction: TransactionHandle,
): Promise<ClaimResult> {
  requireDialect("sqlite", transaction);
  try {
    if (transaction.writesAlone !== true) await transaction.execute(session.statements.holdFile, [], often);
    return await talkLater(claimLocked(session, request), async ({ sql, values, returnsRows }) => {
      const { rows, affected } = await transaction.execute(sql, values, often);
      return returnsRows ? plainRow(rows[0]) : affected;
    });
  } catch (error) {
    if (!isBusy(error)) throw error;
    return stillProcessing;
  }
}

function runOn<Result>(connection: Connection, claiming: Claiming<Result>): Result {
  return talkNow(claiming, ({ sql, values, returnsRows }) =>
    returnsRows ? connection.get(sql, ...values) : connection.run(sql, ...values),
  );
}

function* queryOne(sql: string, ...values: readonly SqliteValue[]): Claiming<Row | undefined> {
  return (yield { sql, values, returnsRows: true }) as Row | undefined;
}

/** The number of rows changed. */
function* execute(sql: string, ...values: readonly SqliteValue[]): Claiming<number> {
  return (yield { sql, values, returnsRows: false }) as number;
}

/** Undefined when the claim has something to write. */
function* answerOf(session: Session, request: ClaimRequest): Claiming<ClaimResult | undefined> {
  const row = yield* queryOne(session.statements.look, ...identityValues(request.identity));
  if (row === undefined) return undefined;
  const nowUs = session.nowUs();
  const record = heldOf(row);
  // Whether a record past its retention is gone depends on the tick row too: two reads are one state only under the lock.
  if (isExpired(record, nowUs)) return undefined;
  const verdict = judgeClaim(record, request, request.fingerprint, { nowUs, trusted: false });
  if (!isRefusal(verdict) || noted(record, request, verdict) !== record) return undefined;
  return refusalOf(record, verdict, nowUs);
}

function* claimLocked(session: Session, request: ClaimRequest): Claiming<ClaimResult> {
  const { fingerprint } = request;
  const floor = yield* queryOne(session.statements.fenceFloor);
  const fenceFloor = floor === undefined ? 0 : integer(floor, "floor");
  const at: Moment = { nowUs: session.nowUs(), trusted: false, fenceFloor };
  const birth = born(request, fingerprint, 0, at);
  if (yield* insert(session.statements, request, birth)) return grantOf(birth, fingerprint.canonical, "new");
  const row = yield* queryOne(session.statements.look, ...identityValues(request.identity));
  if (row === undefined) throw new TypeError("a record that stopped an insert is not there");
  const record = heldOf(row);
  // Most claims never need the tick row.
  const trusted = isExpired(record, at.nowUs) && isTrusted(tickOf(yield* queryOne(session.statements.clock)), at.nowUs);
  const moment: Moment = { ...at, trusted };
  const verdict = judgeClaim(record, request, fingerprint, moment);
  if (isRefusal(verdict)) {
    if (noted(record, request, verdict) !== record)
      yield* execute(session.statements.claimNote, ...identityValues(request.identity));
    return refusalOf(record, verdict, at.nowUs);
  }
  if (verdict === "new")
    return yield* restart(session.statements, request, born(request, fingerprint, record.fence, moment));
  return yield* take(session.statements, request, record, verdict, moment);
}

export function readTick({ connection, statements }: Session): TickRow | undefined {
  return tickOf(connection.get(statements.clock));
}

function tickOf(row: Row | undefined): TickRow | undefined {
  if (row === undefined) return undefined;
  return {
    lastUs: integer(row, "last_us"),
    intervalUs: integer(row, "interval_us"),
    steadySinceUs: integer(row, "steady_since_us"),
  };
}

/** False when there was a record. */
function* insert(statements: Statements, request: ClaimRequest, birth: HeldRecord): Claiming<boolean> {
  const changes = yield* execute(
    statements.claim,
    ...birthValues(request),
    birth.fence,
    birth.leaseUs,
    encodeLabels(request.labels),
    birth.createdUs,
    birth.updatedUs,
    birth.expiresUs,
    Number(birth.doubtStays),
  );
  if (changes === 0) return false;
  if (request.labels !== undefined) yield* addLabels(statements, request);
  return true;
}

function* restart(statements: Statements, request: ClaimRequest, birth: HeldRecord): Claiming<ClaimResult> {
  const { identity, fingerprint } = request;
  yield* execute(statements.forgetLabels, ...identityValues(identity));
  yield* execute(statements.forgetSteps, ...identityValues(identity));
  yield* execute(statements.forgetResources, ...identityValues(identity));
  yield* execute(
    statements.claimRestart,
    orNull(identity.tenant),
    orNull(identity.principal),
    identity.operation,
    fingerprint.version,
    fingerprint.raw,
    fingerprint.canonical,
    orNull(fingerprint.former),
    birth.owner,
    birth.fence,
    birth.leaseUs,
    encodeLabels(request.labels),
    birth.createdUs,
    birth.updatedUs,
    birth.expiresUs,
    Number(birth.doubtStays),
    ...identityValues(identity),
  );
  yield* addLabels(statements, request);
  return grantOf(birth, fingerprint.canonical, "new");
}

function* addLabels(statements: Statements, request: ClaimRequest): Claiming<void> {
  for (const [name, value] of Object.entries(request.labels ?? {})) {
    yield* execute(statements.addLabel, name, value, ...identityValues(request.identity));
  }
}

function* take(
  statements: Statements,
  request: ClaimRequest,
  record: Held,
  verdict: Exclude<ClaimVerdict, Refusal | "new">,
  moment: Moment,
): Claiming<ClaimResult> {
  const next = held(record, request, verdict, moment);
  yield* execute(
    statements.claimTake,
    next.owner,
    next.origin,
    next.fence,
    next.attempts,
    next.leaseUs,
    next.updatedUs,
    Number(next.doubtStays),
    ...identityValues(request.identity),
  );
  return grantOf(next, next.fingerprint.canonical, verdict);
}
