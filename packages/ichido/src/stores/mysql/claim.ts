/**
 * The claim. A new record takes one round trip: the insert decides, and the fence comes back as its insertId. A claim
 * that meets a record reads it in a second round trip, which is the last one for replays and refusals; only the first
 * claim that is refused because of a doubt also notes that the doubt stays. The claim judges the record by the rules
 * that all stores share. If it may take the record, it does so by a statement that names the fence it saw: of any
 * number of claims that saw the same record, one succeeds and the others look again.
 *
 * Deciding a takeover inside the insert itself would save that claim a round trip and cost every claim a statement
 * several times as long to parse.
 *
 * Many claims together look first where some of the last ones met a record, since replays and refusals need no more and a
 * look waits for no lock. Where nearly all were new they insert at once: the statement returns the record of each, made or
 * met. What neither answers is claimed alone.
 */
import { IchidoError } from "../../core/contract/errors.ts";
import type { Identity } from "../../core/contract/record.ts";
import type { ClaimRequest, ClaimResult } from "../../core/contract/store.ts";
import {
  bornWith,
  grantOf,
  held,
  isBornNow,
  isRefusal,
  judgeClaim,
  noted,
  refusalOf,
  type ClaimVerdict,
  type Refusal,
} from "../../core/record-machine/claim.ts";
import { usOf } from "../../core/record-machine/record.ts";
import { isAsSeen } from "../../core/record-machine/seen.ts";
import { isExpired } from "../../core/record-machine/view.ts";
import { idOf } from "../group.ts";
import { integerOf, type Row } from "./client.ts";
import type { Dialect, Value, Values } from "./dialect.ts";
import { readClock } from "./sweep.ts";
import { addLabels, sweepLabels } from "./labels.ts";
import { positionOf, seenOf, type Seen } from "./row.ts";
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
      await addLabels(run, dialect, [request]);
      // Known without a look.
      return grantOf(bornWith(insertId, request, request.fingerprint), request.fingerprint.canonical, "new");
    }
    const seen = await look(run, dialect, request);
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

/**
 * What needs no more than a look, for many claims at once: `absent` is to be inserted, and what is undefined must be
 * claimed alone.
 */
export async function answersWithoutWriting(
  run: Run,
  dialect: Dialect,
  requests: readonly ClaimRequest[],
): Promise<readonly (ClaimResult | "absent" | undefined)[]> {
  const seen = await lookMany(run, dialect, requests);
  return requests.map((request) => {
    const record = seen.get(idOf(request.identity));
    return record === undefined ? "absent" : refusedOf(record, request);
  });
}

/** Many claims that are likely to have no record. Undefined for one that must be claimed alone. */
export async function insertMany(
  run: Run,
  dialect: Dialect,
  requests: readonly ClaimRequest[],
): Promise<readonly (ClaimResult | undefined)[]> {
  const { rows } = await run(dialect.claimMany(requests.length), requests.flatMap(bornValues));
  const seen = byPosition(rows);
  const made: ClaimRequest[] = [];
  const results = requests.map((request) => {
    const record = seen.get(idOf(request.identity));
    if (record === undefined) return undefined;
    if (!isBornNow(record, request, record.nowUs)) return refusedOf(record, request);
    made.push(request);
    return grantOf(record, request.fingerprint.canonical, "new");
  });
  await addLabels(run, dialect, made);
  return results;
}

/** What needs no write, and no look at the ticks. */
function refusedOf(record: Seen, request: ClaimRequest): ClaimResult | undefined {
  if (isExpired(record, record.nowUs)) return undefined;
  const verdict = judgeClaim(record, request, request.fingerprint, { nowUs: record.nowUs, trusted: false });
  if (!isRefusal(verdict) || noted(record, request, verdict) !== record) return undefined;
  return refusalOf(record, verdict, record.nowUs);
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
    // Whoever was not told of its grant may have come no further than that.
    await addLabels(run, dialect, [request]);
    return granted(await withSteps(run, dialect, values, seen), verdict);
  }
  if (verdict === "new") {
    // Before it, judged as a sweep judges: afterwards nothing names them any more.
    await sweepLabels(run, dialect, [{ identity: request.identity, labels: seen.labels }], seen.nowUs);
    const { insertId } = await dialect.send(run, "claimRestart", { ...values, fence });
    if (insertId === 0) return undefined;
    await addLabels(run, dialect, [request]);
    const fresh = await look(run, dialect, request);
    return fresh !== undefined && isAsSeen(fresh, { fence: insertId }) ? granted(fresh, verdict) : undefined;
  }
  const open = verdict === "suspended" ? 1 : 0;
  const how = { origin: text("origin", verdict), state: text("state", seen.state), open };
  const { insertId } = await dialect.send(run, "claimTake", { ...values, fence, ...how });
  if (insertId === 0) return undefined;
  // Whoever claimed it first may have died before it wrote them: completed records are found by these rows alone.
  await addLabels(run, dialect, [{ identity: request.identity, labels: seen.labels }]);
  // The server makes the fence: it takes the record a moment after the look.
  const moment = { nowUs: seen.nowUs, trusted: false, fenceFloor: 0 };
  const taken = { ...held(seen, request, verdict, moment), fence: insertId };
  return granted(await withSteps(run, dialect, values, taken), verdict);
}

async function look(run: Run, dialect: Dialect, { identity }: ClaimRequest): Promise<Seen | undefined> {
  const [row] = (await run(dialect.look(1), positionValues(identity))).rows;
  return row === undefined ? undefined : seenOf(row);
}

async function lookMany(
  run: Run,
  dialect: Dialect,
  requests: readonly ClaimRequest[],
): Promise<ReadonlyMap<string, Seen>> {
  const values = requests.flatMap(({ identity }) => positionValues(identity));
  return byPosition((await run(dialect.look(requests.length), values)).rows);
}

function byPosition(rows: readonly Row[]): ReadonlyMap<string, Seen> {
  return new Map(rows.map((row) => [idOf(positionOf(row)), seenOf(row)]));
}

function positionValues(identity: Identity): Value[] {
  const { key, scopeHash } = identityValues(identity);
  return [key, scopeHash];
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

/** As `claimMany` of the dialect has them. */
function bornValues(request: ClaimRequest): Value[] {
  const { key, scopeHash, ...values } = { ...identityValues(request.identity), ...valuesOf(request) };
  const { tenant, principal, operation, version, raw, canonical, former } = values;
  const { owner, labels, doubtStays, leaseUs, retentionUs } = values;
  const known = [key, scopeHash, tenant, principal, operation, version, raw, canonical, former];
  return [...known, owner, labels, doubtStays, leaseUs, retentionUs, doubtStays, retentionUs] as Value[];
}

function granted(seen: Seen, verdict: Exclude<ClaimVerdict, Refusal>): ClaimResult {
  return grantOf(seen, seen.fingerprint.canonical, verdict);
}
