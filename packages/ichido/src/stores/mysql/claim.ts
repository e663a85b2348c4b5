/**
 * The claim. A new record takes one round trip: the insert decides, and the fence comes back as its insertId. Whoever
 * meets a record reads it (a second round trip, and the last one for replays and refusals), judges it by the rules that
 * all stores share, and takes it, if it may, by a statement that names the fence it saw: of any number that saw the same
 * record, one succeeds and the others look again.
 *
 * Deciding a takeover inside the insert itself would save that claim a round trip and cost every claim a statement
 * several times as long to parse. Claims are not grouped: a multi-row insert has one insertId and cannot tell each claim
 * its own outcome.
 */
import { IchidoError } from "../../core/errors.ts";
import type { ClaimRequest, ClaimResult } from "../../core/store.ts";
import { judgeClaim, mayExpire, origins } from "../shared/claim-rules.ts";
import type { ClaimVerdict } from "../shared/claim-rules.ts";
import { integerOf } from "./client.ts";
import type { Dialect, Values } from "./dialect.ts";
import { readClock } from "./housekeeping.ts";
import { addLabels, forgetLabels } from "./labels.ts";
import { seenOf, toMs } from "./rows.ts";
import type { Seen } from "./rows.ts";
import type { Run } from "./session.ts";
import {
  fingerprintValues,
  identityValues,
  labelValue,
  microseconds,
  ownerValue,
  scopeValues,
  text,
} from "./values.ts";

type Granted = Extract<ClaimResult, { readonly outcome: "granted" }>;

type Refusal = Extract<ClaimVerdict, "mismatch" | "completed" | "processing" | "unknown">;

/** The record may move between the look and the hold on it, and then the claim begins anew; no more often than this. */
const roundsMax = 32;

export async function claim(run: Run, dialect: Dialect, request: ClaimRequest): Promise<ClaimResult> {
  const values = valuesOf(request);
  const insert = dialect.statement("claim");
  for (let round = 0; round < roundsMax; round += 1) {
    const { insertId } = await run(insert.sql, insert.bind(values));
    if (insertId > 0) {
      await addLabels(run, dialect, request.identity, request.labels);
      return grantedNew(request, insertId);
    }
    const seen = await look(run, dialect, values);
    if (seen === undefined) continue;
    const past = seen.expiresUs <= seen.nowUs && mayExpire(seen, seen.nowUs);
    const trusted = past && (await readClock(run, dialect)).trusted;
    const verdict = judgeClaim(seen, request, seen.nowUs, () => trusted);
    const result = isRefusal(verdict) ? refused(seen, verdict) : await hold(run, dialect, request, seen, verdict);
    if (result !== undefined) return result;
  }
  throw new IchidoError(
    "store-unavailable",
    `the record changed hands ${roundsMax} times while it was being claimed; try again`,
  );
}

const isRefusal = (verdict: ClaimVerdict): verdict is Refusal =>
  verdict === "mismatch" || verdict === "completed" || verdict === "processing" || verdict === "unknown";

/** Makes a record that was judged to be free, or one's own, one's own; nothing when it moved meanwhile. */
async function hold(
  run: Run,
  dialect: Dialect,
  request: ClaimRequest,
  seen: Seen,
  verdict: Exclude<ClaimVerdict, Refusal>,
): Promise<ClaimResult | undefined> {
  const values = valuesOf(request);
  const { fence } = seen;
  if (verdict === "resend") {
    const resend = dialect.statement("claimResend");
    const { insertId } = await run(resend.sql, resend.bind({ ...values, fence }));
    if (insertId === 0) return undefined;
    return { ...granted(await withSteps(run, dialect, values, seen), seen.origin), resent: true };
  }
  if (verdict === "expired") {
    const restart = dialect.statement("claimRestart");
    const { insertId } = await run(restart.sql, restart.bind({ ...values, fence }));
    if (insertId === 0) return undefined;
    const { identity, labels } = request;
    await forgetLabels(run, dialect, [{ identity, labels: seen.labels }]);
    await addLabels(run, dialect, identity, labels);
    const fresh = await look(run, dialect, values);
    return fresh?.fence === insertId ? granted(fresh, "new") : undefined;
  }
  const origin = origins[verdict];
  const take = dialect.statement("claimTake");
  const open = origin === "suspended" ? 1 : 0;
  const how = { origin: text("origin", origin), state: text("state", seen.state), open };
  const bound = take.bind({ ...values, fence, ...how });
  const { insertId } = await run(take.sql, bound);
  if (insertId === 0) return undefined;
  const taken = { ...seen, fence: insertId, attempts: seen.attempts + 1 };
  return granted(await withSteps(run, dialect, values, taken), origin);
}

async function look(run: Run, dialect: Dialect, values: Values): Promise<Seen | undefined> {
  const statement = dialect.statement("look");
  const [row] = (await run(statement.sql, statement.bind(values))).rows;
  return row === undefined ? undefined : seenOf(row);
}

async function withSteps(run: Run, dialect: Dialect, values: Values, seen: Seen): Promise<Seen> {
  if (seen.stepsStarted === 0) return seen;
  const statement = dialect.statement("countSteps");
  const [row] = (await run(statement.sql, statement.bind(values))).rows;
  return { ...seen, stepsStarted: integerOf(row?.["started"] ?? 0) };
}

function valuesOf(request: ClaimRequest): Values {
  return {
    ...identityValues(request.identity),
    ...scopeValues(request.identity),
    ...fingerprintValues(request.fingerprint),
    owner: ownerValue(request.owner),
    leaseUs: microseconds(request.leaseMs),
    retentionUs: microseconds(request.retentionMs),
    labels: labelValue(request.labels),
    doubtStays: request.doubtStays === true ? 1 : 0,
  };
}

/** Known without a look: a record is made at the very microsecond that its first fence names. */
function grantedNew(request: ClaimRequest, fence: number): Granted {
  return {
    outcome: "granted",
    fence,
    attempt: 1,
    origin: "new",
    stepsStarted: 0,
    canonical: request.fingerprint.canonical,
    createdAtMs: toMs(fence),
    expiresAtMs: toMs(fence + microseconds(request.retentionMs)),
  };
}

function granted(seen: Seen, origin: Granted["origin"]): Granted {
  return {
    outcome: "granted",
    fence: seen.fence,
    attempt: seen.attempts,
    origin,
    stepsStarted: seen.stepsStarted,
    canonical: seen.canonical,
    createdAtMs: toMs(seen.createdUs),
    expiresAtMs: toMs(seen.expiresUs),
  };
}

function refused(seen: Seen, verdict: Refusal): ClaimResult {
  const { fence, attempts } = seen;
  if (verdict === "mismatch") return { outcome: "mismatch" };
  if (verdict === "processing") {
    return { outcome: "processing", leaseLeftMs: Math.ceil((seen.leaseUs - seen.nowUs) / 1_000), attempts };
  }
  if (verdict === "completed") {
    if (seen.answer === undefined) throw new TypeError("a completed record has no answer: the table was altered");
    return {
      outcome: "completed",
      response: seen.answer,
      fence,
      attempts,
      createdAtMs: toMs(seen.createdUs),
      expiresAtMs: toMs(seen.expiresUs),
      expiresInMs: Math.ceil((seen.expiresUs - seen.nowUs) / 1_000),
    };
  }
  return {
    outcome: "unknown",
    ...(seen.answer === undefined ? {} : { interim: seen.answer }),
    ...(seen.holdReason === undefined ? {} : { holdReason: seen.holdReason }),
    fence,
    attempts,
  };
}
