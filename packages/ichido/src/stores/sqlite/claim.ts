/**
 * Claims. The record is looked at without the write lock first: a completed, mismatching or live record is a true answer
 * at the instant of that read, and `completed` stays true, so replays and conflicts write nothing and wait for nobody.
 * Everything else is decided again under the lock.
 */
import type { StoredResponse } from "../../core/record.ts";
import type { ClaimRequest, ClaimResult } from "../../core/store.ts";
import type { TransactionHandle } from "../../core/transaction.ts";
import {
  isTrusted,
  judgeClaim,
  nextFence,
  originOf,
  origins,
  type ClaimVerdict,
  type TickRow,
} from "../shared/claim-rules.ts";
import { encodeLabels } from "../shared/labels.ts";
import type { Connection, Row, SqliteValue } from "./database.ts";
import { isBusy } from "./failure.ts";
import { often, refuseOtherDialect } from "./ownership.ts";
import {
  birthValues,
  bytes,
  bytesOrNull,
  identityValues,
  integer,
  leaseLeftMs,
  orNull,
  plainRow,
  responseOf,
  stateOf,
  text,
  textOrNull,
  toMs,
} from "./row.ts";
import type { Session } from "./session.ts";
import { statements } from "./statements.generated.ts";

type Granted = Extract<ClaimResult, { outcome: "granted" }>;

/**
 * A claim as the statements it asks for, one after the other, so that the same rules run on the store's own connection,
 * which answers at once, and on the caller's transaction, which answers later. Each is answered with its first row.
 */
interface Wanted {
  readonly sql: string;
  readonly values: readonly SqliteValue[];
  readonly returnsRows: boolean;
}
type Claiming<Result> = Generator<Wanted, Result, Row | undefined>;

export async function claim(session: Session, request: ClaimRequest): Promise<ClaimResult> {
  const seen = await session.turns.read(() => runOn(session.connection, answerOf(session, request)));
  return seen ?? session.turns.write(() => runOn(session.connection, claimLocked(session, request)));
}

/** What a caller is told about a database that another connection is writing at this very moment: come back soon. */
const lockedRetryMs = 1_000;

/**
 * On the caller's transaction, under the write lock; a transaction that cannot have the lock is told that somebody else is
 * at work. Nobody sees the record before the commit, so a new one is written once, with its answer.
 */
export async function claimWithin(
  session: Session,
  request: ClaimRequest,
  transaction: TransactionHandle,
): Promise<ClaimResult> {
  refuseOtherDialect(transaction);
  try {
    if (transaction.writesAlone !== true) await transaction.execute(statements.holdFile, [], often);
    const { rows } = await transaction.execute(statements.claimFree, identityValues(request.identity), often);
    const [free] = rows;
    if (free === undefined) throw new TypeError("SQLite did not tell whether there is a record");
    if (Number(free["taken"]) === 0) return grantedFree(session, request, free);
    const claiming = claimLocked(session, request);
    let next = claiming.next();
    while (next.done !== true) {
      const { rows } = await transaction.execute(next.value.sql, next.value.values, often);
      next = claiming.next(plainRow(rows[0]));
    }
    return next.value;
  } catch (error) {
    if (!isBusy(error)) throw error;
    return { outcome: "processing", leaseLeftMs: lockedRetryMs, attempts: 1 };
  }
}

function runOn<Result>(connection: Connection, claiming: Claiming<Result>): Result {
  let next = claiming.next();
  while (next.done !== true) {
    const { sql, values, returnsRows } = next.value;
    if (returnsRows) next = claiming.next(connection.get(sql, ...values));
    else {
      connection.run(sql, ...values);
      next = claiming.next(undefined);
    }
  }
  return next.value;
}

function* ask(sql: string, ...values: readonly SqliteValue[]): Claiming<Row | undefined> {
  return yield { sql, values, returnsRows: true };
}

function* tell(sql: string, ...values: readonly SqliteValue[]): Claiming<void> {
  yield { sql, values, returnsRows: false };
}

/** Undefined when the claim has something to write. */
function* answerOf(session: Session, request: ClaimRequest): Claiming<ClaimResult | undefined> {
  const row = yield* ask(statements.look, ...identityValues(request.identity));
  if (row === undefined) return undefined;
  const nowUs = session.nowUs();
  // Whether a record past its retention is gone depends on the tick row too: two reads are one state only under the lock.
  if (integer(row, "expires_us") <= nowUs) return undefined;
  return yield* refusalOf(row, request, yield* verdictOf(row, request, nowUs), nowUs);
}

function* claimLocked(session: Session, request: ClaimRequest): Claiming<ClaimResult> {
  const nowUs = session.nowUs();
  const fence = yield* insert(request, nowUs);
  if (fence !== undefined) return grantedNew(request, fence, nowUs);
  const row = yield* ask(statements.look, ...identityValues(request.identity));
  if (row === undefined) throw new TypeError("a record that stopped an insert is not there");
  const verdict = yield* verdictOf(row, request, nowUs);
  const refusal = yield* refusalOf(row, request, verdict, nowUs);
  if (refusal !== undefined) return refusal;
  if (verdict === "expired") return yield* restart(request, integer(row, "fence"), nowUs);
  return yield* take(request, row, verdict, nowUs);
}

function* verdictOf(row: Row, request: ClaimRequest, nowUs: number): Claiming<ClaimVerdict> {
  const record = {
    state: stateOf(row),
    owner: text(row, "owner"),
    raw: bytes(row, "fingerprint_raw"),
    canonical: bytes(row, "fingerprint_canonical"),
    former: bytesOrNull(row, "fingerprint_former") ?? undefined,
    leaseUs: integer(row, "lease_us"),
    expiresUs: integer(row, "expires_us"),
    stepsStarted: integer(row, "steps_started"),
    interim: row["interim_status"] !== null,
    held: row["hold_reason"] !== null,
    doubtStays: integer(row, "doubt_stays") !== 0,
  };
  // Most claims never need the tick row: it is read only for a record past its retention.
  const tick = record.expiresUs <= nowUs ? tickOf(yield* ask(statements.clock)) : undefined;
  return judgeClaim(record, request, nowUs, () => isTrusted(tick, nowUs));
}

export function readTick(connection: Connection): TickRow | undefined {
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

/** The answers that change nothing. */
function* refusalOf(
  row: Row,
  request: ClaimRequest,
  verdict: ClaimVerdict,
  nowUs: number,
): Claiming<ClaimResult | undefined> {
  const attempts = integer(row, "attempts");
  if (verdict === "mismatch") return { outcome: "mismatch" };
  if (verdict === "processing") {
    return { outcome: "processing", leaseLeftMs: leaseLeftMs(integer(row, "lease_us"), nowUs), attempts };
  }
  if (verdict === "completed") {
    const expiresUs = integer(row, "expires_us");
    return {
      outcome: "completed",
      response: responseOf(row, "response"),
      fence: integer(row, "fence"),
      attempts,
      createdAtMs: toMs(integer(row, "created_us")),
      expiresAtMs: toMs(expiresUs),
      expiresInMs: Math.max(0, toMs(expiresUs - nowUs)),
    };
  }
  if (verdict !== "unknown") return undefined;
  const holdReason = textOrNull(row, "hold_reason");
  const interim = row["interim_status"] === null ? undefined : yield* readInterim(request);
  return {
    outcome: "unknown",
    ...(interim !== undefined && { interim }),
    ...(holdReason !== null && { holdReason }),
    fence: integer(row, "fence"),
    attempts,
  };
}

function* readInterim(request: ClaimRequest): Claiming<StoredResponse | undefined> {
  const row = yield* ask(statements.find, ...identityValues(request.identity));
  return row === undefined || row["interim_status"] === null ? undefined : responseOf(row, "interim");
}

/** The fence of the new record; undefined when there was one. */
function* insert(request: ClaimRequest, nowUs: number): Claiming<number | undefined> {
  const row = yield* ask(
    statements.claim,
    ...birthValues(request),
    nowUs,
    nowUs + request.leaseMs * 1000,
    encodeLabels(request.labels),
    nowUs,
    nowUs,
    nowUs + request.retentionMs * 1000,
    doubtValue(request),
  );
  if (row === undefined) return undefined;
  yield* addLabels(request);
  return integer(row, "fence");
}

function* restart(request: ClaimRequest, formerFence: number, nowUs: number): Claiming<ClaimResult> {
  const { identity, fingerprint } = request;
  const fence = nextFence(formerFence, nowUs);
  yield* tell(statements.forgetLabels, ...identityValues(identity));
  yield* tell(statements.forgetSteps, ...identityValues(identity));
  yield* tell(
    statements.claimRestart,
    orNull(identity.tenant),
    orNull(identity.principal),
    identity.operation,
    fingerprint.version,
    fingerprint.raw,
    fingerprint.canonical,
    orNull(fingerprint.former),
    request.owner,
    fence,
    nowUs + request.leaseMs * 1000,
    encodeLabels(request.labels),
    nowUs,
    nowUs,
    nowUs + request.retentionMs * 1000,
    doubtValue(request),
    ...identityValues(identity),
  );
  yield* addLabels(request);
  return grantedNew(request, fence, nowUs);
}

function* addLabels(request: ClaimRequest): Claiming<void> {
  for (const [name, value] of Object.entries(request.labels ?? {})) {
    yield* tell(statements.addLabel, name, value, ...identityValues(request.identity));
  }
}

function doubtValue({ doubtStays }: ClaimRequest): number {
  return doubtStays === true ? 1 : 0;
}

function* take(request: ClaimRequest, row: Row, verdict: ClaimVerdict, nowUs: number): Claiming<ClaimResult> {
  const leaseUs = nowUs + request.leaseMs * 1000;
  const where = identityValues(request.identity);
  if (verdict === "resend") {
    const fence = integer(row, "fence");
    yield* tell(statements.claimResend, leaseUs, ...where, request.owner, fence);
    const origin = originOf(text(row, "origin"));
    return { ...grantedOf(row), fence, attempt: integer(row, "attempts"), origin, resent: true };
  }
  if (!(verdict in origins)) throw new TypeError(`a claim cannot end in ${verdict} here`);
  const origin = origins[verdict as keyof typeof origins];
  const fence = nextFence(integer(row, "fence"), nowUs);
  yield* tell(statements.claimTake, request.owner, origin, fence, leaseUs, nowUs, doubtValue(request), ...where);
  return { ...grantedOf(row), fence, attempt: integer(row, "attempts") + 1, origin };
}

/** What no claim changes. */
function grantedOf(row: Row) {
  return {
    outcome: "granted",
    stepsStarted: integer(row, "steps_count"),
    canonical: bytes(row, "fingerprint_canonical"),
    createdAtMs: toMs(integer(row, "created_us")),
    expiresAtMs: toMs(integer(row, "expires_us")),
  } as const;
}

function grantedFree(session: Session, request: ClaimRequest, row: Row): Granted {
  // The caller's connection may be set to answer with bigints.
  const nowUs = session.testUs?.() ?? Number(row["now_ms"]) * 1000;
  return grantedNew(request, Math.max(nowUs, Number(row["floor"]) + 1), nowUs, true);
}

function grantedNew(request: ClaimRequest, fence: number, nowUs: number, unwritten?: true): Granted {
  return {
    outcome: "granted",
    fence,
    attempt: 1,
    origin: "new",
    stepsStarted: 0,
    canonical: request.fingerprint.canonical,
    createdAtMs: toMs(nowUs),
    expiresAtMs: toMs(nowUs + request.retentionMs * 1000),
    unwritten,
  };
}
