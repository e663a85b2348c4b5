/**
 * Claims. The record is looked at without the write lock first: a completed, mismatching or live record is a true answer
 * at the instant of that read, and `completed` stays true, so replays and conflicts write nothing and wait for nobody.
 * Everything else is decided again under the lock.
 */
import type { ClaimRequest, ClaimResult } from "../../core/store.ts";
import { isTrusted, judgeClaim, nextFence, type ClaimVerdict, type TickRow } from "../shared/claim-rules.ts";
import { encodeLabels } from "../shared/labels.ts";
import type { Connection, Row } from "./database.ts";
import {
  bytes,
  bytesOrNull,
  identityValues,
  integer,
  isDoubtful,
  leaseLeftMs,
  orNull,
  responseOf,
  stateOf,
  text,
  textOrNull,
  toMs,
} from "./row.ts";
import type { Session } from "./session.ts";
import { statements } from "./statements.generated.ts";

type Granted = Extract<ClaimResult, { outcome: "granted" }>;

export async function claim(session: Session, request: ClaimRequest): Promise<ClaimResult> {
  const seen = await session.turns.read(() => answerOf(session, request));
  return seen ?? session.turns.write(() => claimLocked(session, request));
}

/** Undefined when the claim has something to write. */
function answerOf(session: Session, request: ClaimRequest): ClaimResult | undefined {
  const { connection } = session;
  const row = connection.get(statements.look, ...identityValues(request.identity));
  if (row === undefined) return undefined;
  const nowUs = session.nowUs();
  // Whether a record past its retention is gone depends on the tick row too: two reads are one state only under the lock.
  if (integer(row, "expires_us") <= nowUs) return undefined;
  return refusalOf(connection, row, request, verdictOf(connection, row, request, nowUs), nowUs);
}

function claimLocked(session: Session, request: ClaimRequest): ClaimResult {
  const { connection } = session;
  const nowUs = session.nowUs();
  const fence = insert(connection, request, nowUs);
  if (fence !== undefined) return grantedNew(request, fence, nowUs);
  const row = connection.get(statements.look, ...identityValues(request.identity));
  if (row === undefined) throw new TypeError("a record that stopped an insert is not there");
  const verdict = verdictOf(connection, row, request, nowUs);
  const refusal = refusalOf(connection, row, request, verdict, nowUs);
  if (refusal !== undefined) return refusal;
  if (verdict === "expired") return restart(connection, request, integer(row, "fence"), nowUs);
  return take(connection, request, row, verdict, nowUs);
}

function verdictOf(connection: Connection, row: Row, request: ClaimRequest, nowUs: number): ClaimVerdict {
  const record = {
    state: stateOf(row),
    owner: text(row, "owner"),
    raw: bytes(row, "fingerprint_raw"),
    canonical: bytes(row, "fingerprint_canonical"),
    former: bytesOrNull(row, "fingerprint_former") ?? undefined,
    leaseUs: integer(row, "lease_us"),
    expiresUs: integer(row, "expires_us"),
    stepsStarted: integer(row, "steps_started"),
    doubtful: isDoubtful(row),
  };
  return judgeClaim(record, request, nowUs, () => isTrusted(readTick(connection), nowUs));
}

export function readTick(connection: Connection): TickRow | undefined {
  const row = connection.get(statements.clock);
  if (row === undefined) return undefined;
  return {
    lastUs: integer(row, "last_us"),
    intervalUs: integer(row, "interval_us"),
    steadySinceUs: integer(row, "steady_since_us"),
  };
}

/** The answers that change nothing. */
function refusalOf(
  connection: Connection,
  row: Row,
  request: ClaimRequest,
  verdict: ClaimVerdict,
  nowUs: number,
): ClaimResult | undefined {
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
  const interim = row["interim_status"] === null ? undefined : readInterim(connection, request);
  return {
    outcome: "unknown",
    ...(interim !== undefined && { interim }),
    ...(holdReason !== null && { holdReason }),
    fence: integer(row, "fence"),
    attempts,
  };
}

function readInterim(connection: Connection, request: ClaimRequest) {
  const row = connection.get(statements.find, ...identityValues(request.identity));
  return row === undefined || row["interim_status"] === null ? undefined : responseOf(row, "interim");
}

/** The fence of the new record; undefined when there was one. */
function insert(connection: Connection, request: ClaimRequest, nowUs: number): number | undefined {
  const { identity, fingerprint } = request;
  const row = connection.get(
    statements.claim,
    ...identityValues(identity),
    orNull(identity.tenant),
    orNull(identity.principal),
    identity.operation,
    fingerprint.version,
    fingerprint.raw,
    fingerprint.canonical,
    orNull(fingerprint.former),
    request.owner,
    nowUs,
    nowUs + request.leaseMs * 1000,
    encodeLabels(request.labels),
    nowUs,
    nowUs,
    nowUs + request.retentionMs * 1000,
  );
  if (row === undefined) return undefined;
  addLabels(connection, request);
  return integer(row, "fence");
}

function restart(connection: Connection, request: ClaimRequest, formerFence: number, nowUs: number): ClaimResult {
  const { identity, fingerprint } = request;
  const fence = nextFence(formerFence, nowUs);
  connection.run(statements.forgetLabels, ...identityValues(identity));
  connection.run(statements.forgetSteps, ...identityValues(identity));
  connection.run(
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
    ...identityValues(identity),
  );
  addLabels(connection, request);
  return grantedNew(request, fence, nowUs);
}

function addLabels(connection: Connection, request: ClaimRequest): void {
  for (const [name, value] of Object.entries(request.labels ?? {})) {
    connection.run(statements.addLabel, name, value, ...identityValues(request.identity));
  }
}

const origins = {
  own: "own",
  "take-failed": "failed",
  "take-lapsed": "lapsed",
  "take-suspended": "suspended",
} as const satisfies Partial<Record<ClaimVerdict, Granted["origin"]>>;

function take(
  connection: Connection,
  request: ClaimRequest,
  row: Row,
  verdict: ClaimVerdict,
  nowUs: number,
): ClaimResult {
  if (!(verdict in origins)) throw new TypeError(`a claim cannot end in ${verdict} here`);
  const origin = origins[verdict as keyof typeof origins];
  const leaseUs = nowUs + request.leaseMs * 1000;
  const fence = origin === "own" ? integer(row, "fence") : nextFence(integer(row, "fence"), nowUs);
  const where = identityValues(request.identity);
  if (origin === "own") connection.run(statements.renew, leaseUs, ...where, request.owner, fence);
  else connection.run(statements.claimTake, request.owner, fence, leaseUs, nowUs, ...where);
  return {
    outcome: "granted",
    fence,
    attempt: integer(row, "attempts") + (origin === "own" ? 0 : 1),
    origin,
    stepsStarted: integer(row, "steps_started"),
    canonical: bytes(row, "fingerprint_canonical"),
    createdAtMs: toMs(integer(row, "created_us")),
    expiresAtMs: toMs(integer(row, "expires_us")),
  };
}

function grantedNew(request: ClaimRequest, fence: number, nowUs: number): Granted {
  return {
    outcome: "granted",
    fence,
    attempt: 1,
    origin: "new",
    stepsStarted: 0,
    canonical: request.fingerprint.canonical,
    createdAtMs: toMs(nowUs),
    expiresAtMs: toMs(nowUs + request.retentionMs * 1000),
  };
}
