/**
 * The claim. A new record takes one round trip: the insert decides, and the fence comes back as its insertId. A claim
 * that meets a record reads it in a second round trip, which is the last one for replays and refusals; only the first
 * claim that is refused because of a doubt also notes that the doubt stays. The claim judges the record by the rules
 * that all stores share. If it may take the record, it does so by a statement that names the fence it saw: of any
 * number of claims that saw the same record, one succeeds and the others look again.
 *
 * Deciding a takeover inside the insert itself would save that claim a round trip and cost every claim a statement
 * several times as long to parse. Claims are not grouped: a multi-row insert has one insertId and cannot tell each claim
 * its own outcome.
 */
import { IchidoError } from "../../core/contract/errors.ts";
import type { ClaimRequest, ClaimResult } from "../../core/contract/store.ts";
import {
  born,
  grantOf,
  held,
  isRefusal,
  judgeClaim,
  noted,
  refusalOf,
  type ClaimVerdict,
  type Refusal,
} from "../../core/record-machine/claim.ts";
import { usOf } from "../../core/record-machine/record.ts";
import { isExpired } from "../../core/record-machine/view.ts";
import { integerOf } from "./client.ts";
import type { Dialect, Values } from "./dialect.ts";
import { readClock } from "./sweep.ts";
import { addLabels, forgetLabels } from "./labels.ts";
import { seenOf, type Seen } from "./row.ts";
import type { Run } from "./session.ts";
import { fingerprintValues, identityValues, labelValue, ownerValue, scopeValues, text } from "./values.ts";

/**
 * The record may change between the look and the statement that takes it. The claim then begins anew, at most this
 * often.
 */
const roundsMax = 32;

export async function claim(run: Run, dialect: Dialect, request: ClaimRequest): Promise<ClaimResult> {
  const values = valuesOf(request);
  for (let round = 0; round < roundsMax; round += 1) {
    const { insertId } = await dialect.send(run, "claim", values);
    if (insertId > 0) {
      await addLabels(run, dialect, request.identity, request.labels);
      // Known without a look: a record is made at the very microsecond that its first fence names.
      const birth = born(request, request.fingerprint, 0, { nowUs: insertId, trusted: false, fenceFloor: 0 });
      return grantOf(birth, request.fingerprint.canonical, "new");
    }
    const seen = await look(run, dialect, values);
    if (seen === undefined) continue;
    const trusted = isExpired(seen, seen.nowUs) && (await readClock(run, dialect)).trusted;
    const verdict = judgeClaim(seen, request, request.fingerprint, { nowUs: seen.nowUs, trusted });
    const result = isRefusal(verdict)
      ? await refused(run, dialect, request, seen, verdict)
      : await hold(run, dialect, request, seen, verdict);
    if (result !== undefined) return result;
  }
  throw new IchidoError(
    "store-unavailable",
    `the record changed hands ${roundsMax} times while it was being claimed; try again`,
  );
}

/** Notes what the refusal leaves behind, if anything; nothing when the record changed meanwhile. */
async function refused(
  run: Run,
  dialect: Dialect,
  request: ClaimRequest,
  seen: Seen,
  verdict: Refusal,
): Promise<ClaimResult | undefined> {
  if (noted(seen, request, verdict) !== seen) {
    const values = { ...identityValues(request.identity), fence: seen.fence };
    if ((await dialect.send(run, "claimNote", values)).insertId === 0) return undefined;
  }
  return refusalOf(seen, verdict, seen.nowUs);
}

/** Takes a record that was judged to be free, or to be this owner's already; nothing when it changed meanwhile. */
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
    const { insertId } = await dialect.send(run, "claimResend", { ...values, fence });
    if (insertId === 0) return undefined;
    return granted(await withSteps(run, dialect, values, seen), verdict);
  }
  if (verdict === "new") {
    const { insertId } = await dialect.send(run, "claimRestart", { ...values, fence });
    if (insertId === 0) return undefined;
    const { identity, labels } = request;
    await forgetLabels(run, dialect, [{ identity, labels: seen.labels }]);
    await addLabels(run, dialect, identity, labels);
    const fresh = await look(run, dialect, values);
    return fresh?.fence === insertId ? granted(fresh, verdict) : undefined;
  }
  const open = verdict === "suspended" ? 1 : 0;
  const how = { origin: text("origin", verdict), state: text("state", seen.state), open };
  const { insertId } = await dialect.send(run, "claimTake", { ...values, fence, ...how });
  if (insertId === 0) return undefined;
  // The server makes the fence: it takes the record a moment after the look.
  const moment = { nowUs: seen.nowUs, trusted: false, fenceFloor: 0 };
  const taken = { ...held(seen, request, verdict, moment), fence: insertId };
  return granted(await withSteps(run, dialect, values, taken), verdict);
}

async function look(run: Run, dialect: Dialect, values: Values): Promise<Seen | undefined> {
  const [row] = (await dialect.send(run, "look", values)).rows;
  return row === undefined ? undefined : seenOf(row);
}

async function withSteps(run: Run, dialect: Dialect, values: Values, seen: Seen): Promise<Seen> {
  if (seen.stepsStarted === 0) return seen;
  const [row] = (await dialect.send(run, "countSteps", values)).rows;
  return { ...seen, stepsStarted: integerOf(row?.["started"] ?? 0) };
}

function valuesOf(request: ClaimRequest): Values {
  return {
    ...identityValues(request.identity),
    ...scopeValues(request.identity),
    ...fingerprintValues(request.fingerprint),
    owner: ownerValue(request.owner),
    leaseUs: usOf(request.leaseMs),
    retentionUs: usOf(request.retentionMs),
    labels: labelValue(request.labels),
    doubtStays: request.doubtStays === true ? 1 : 0,
  };
}

function granted(seen: Seen, verdict: Exclude<ClaimVerdict, Refusal>): ClaimResult {
  return grantOf(seen, seen.fingerprint.canonical, verdict);
}
