/**
 * The claim. A new record takes one round trip: the insert decides, and the fence comes back as its insertId. Whoever
 * meets a record reads it (a second round trip, and the last one for replays and refusals, but for the first that is told of
 * a doubt and notes that it stays), judges it by the rules that all stores share, and takes it, if it may, by a statement
 * that names the fence it saw: of any number that saw the same record, one succeeds and the others look again.
 *
 * Deciding a takeover inside the insert itself would save that claim a round trip and cost every claim a statement
 * several times as long to parse. Claims are not grouped: a multi-row insert has one insertId and cannot tell each claim
 * its own outcome.
 */
import { IchidoError } from "../../core/contract/errors.ts";
import type { ClaimRequest, ClaimResult } from "../../core/contract/store.ts";
import { born, grantOf, held, isRefusal, judgeClaim, noted, refusalOf } from "../../core/record-machine/claim.ts";
import type { ClaimVerdict, Refusal } from "../../core/record-machine/claim.ts";
import { usOf } from "../../core/record-machine/record.ts";
import { isExpired } from "../../core/record-machine/view.ts";
import { integerOf } from "./client.ts";
import type { Dialect, Values } from "./dialect.ts";
import { readClock } from "./housekeeping.ts";
import { addLabels, forgetLabels } from "./labels.ts";
import { seenOf } from "./rows.ts";
import type { Seen } from "./rows.ts";
import type { Run } from "./session.ts";
import { fingerprintValues, identityValues, labelValue, ownerValue, scopeValues, text } from "./values.ts";

/** The record may move between the look and the hold on it, and then the claim begins anew; no more often than this. */
const roundsMax = 32;

export async function claim(run: Run, dialect: Dialect, request: ClaimRequest): Promise<ClaimResult> {
  const values = valuesOf(request);
  const insert = dialect.statement("claim");
  for (let round = 0; round < roundsMax; round += 1) {
    const { insertId } = await run(insert.sql, insert.bind(values));
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

/** Notes what the refusal leaves behind, if anything; nothing when the record moved meanwhile. */
async function refused(
  run: Run,
  dialect: Dialect,
  request: ClaimRequest,
  seen: Seen,
  verdict: Refusal,
): Promise<ClaimResult | undefined> {
  if (noted(seen, request, verdict) !== seen) {
    const note = dialect.statement("claimNote");
    const bound = note.bind({ ...identityValues(request.identity), fence: seen.fence });
    if ((await run(note.sql, bound)).insertId === 0) return undefined;
  }
  return refusalOf(seen, verdict, seen.nowUs);
}

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
    return granted(await withSteps(run, dialect, values, seen), verdict);
  }
  if (verdict === "new") {
    const restart = dialect.statement("claimRestart");
    const { insertId } = await run(restart.sql, restart.bind({ ...values, fence }));
    if (insertId === 0) return undefined;
    const { identity, labels } = request;
    await forgetLabels(run, dialect, [{ identity, labels: seen.labels }]);
    await addLabels(run, dialect, identity, labels);
    const fresh = await look(run, dialect, values);
    return fresh?.fence === insertId ? granted(fresh, verdict) : undefined;
  }
  const take = dialect.statement("claimTake");
  const open = verdict === "suspended" ? 1 : 0;
  const how = { origin: text("origin", verdict), state: text("state", seen.state), open };
  const bound = take.bind({ ...values, fence, ...how });
  const { insertId } = await run(take.sql, bound);
  if (insertId === 0) return undefined;
  // The fence is the server's own: it took the record a moment later than this one looked at it.
  const moment = { nowUs: seen.nowUs, trusted: false, fenceFloor: 0 };
  const taken = { ...held(seen, request, verdict, moment), fence: insertId };
  return granted(await withSteps(run, dialect, values, taken), verdict);
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
    leaseUs: usOf(request.leaseMs),
    retentionUs: usOf(request.retentionMs),
    labels: labelValue(request.labels),
    doubtStays: request.doubtStays === true ? 1 : 0,
  };
}

function granted(seen: Seen, verdict: Exclude<ClaimVerdict, Refusal>): ClaimResult {
  return grantOf(seen, seen.fingerprint.canonical, verdict);
}
