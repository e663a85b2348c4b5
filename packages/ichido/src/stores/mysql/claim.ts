/**
 * The claim. One statement decides, under the lock of the one row it meets; everything after it only explains.
 *
 * A new record takes one round trip: the fence comes back as the statement's insertId. A refused claim and a takeover take
 * a second one that reads the record. A record past its retention takes a third: the ticks are read beside the record,
 * never inside the claim, so that no claim ever waits for the tick row.
 *
 * Claims are not grouped: a multi-row upsert has one insertId and cannot tell each claim its own outcome.
 */
import { IchidoError } from "../../core/errors.ts";
import type { ClaimRequest, ClaimResult } from "../../core/store.ts";
import { isTrusted, judgeClaim } from "../shared/claim-rules.ts";
import type { ClaimVariant, Dialect, Values } from "./dialect.ts";
import { seenOf, toMs } from "./rows.ts";
import type { Seen } from "./rows.ts";
import type { Run } from "./session.ts";
import { fingerprintValues, identityValues, labelValue, microseconds, ownerValue, scopeValues } from "./values.ts";

type Granted = Extract<ClaimResult, { readonly outcome: "granted" }>;

/** What `claim.sql` says of an existing record, by insertId. */
const origins: readonly (Granted["origin"] | undefined)[] = [undefined, "own", "failed", "lapsed", "suspended"];

/** The record may move between the claim and the look at it, and then the claim is made again; no more often than this. */
const roundsMax = 16;

export async function claim(run: Run, dialect: Dialect, request: ClaimRequest): Promise<ClaimResult> {
  const values = valuesOf(request);
  let expiry: ClaimVariant["expiry"] = "heeded";
  for (let round = 0; round < roundsMax; round += 1) {
    const statement = dialect.claim({ takeover: request.takeover, expiry });
    const { insertId } = await run(statement.sql, statement.bind(values));
    if (insertId >= origins.length) return grantedNew(request, insertId);

    const seen = await look(run, dialect, values);
    if (seen === undefined) continue;
    const trusted = (): boolean => isTrusted(seen.tick, seen.nowUs);
    const verdict = judgeClaim(seen, request, seen.nowUs, trusted);
    switch (verdict) {
      case "expired": {
        const restart = dialect.statement("restart");
        const restarted = await run(restart.sql, restart.bind({ ...values, fence: seen.fence }));
        const fresh = restarted.insertId > 0 ? await look(run, dialect, values) : undefined;
        if (fresh?.fence === restarted.insertId) return granted(fresh, "new");
        break;
      }
      case "own":
        return granted(seen, origins[insertId] ?? "own");
      case "take-failed":
      case "take-lapsed":
      case "take-suspended":
        // It was not takeable a moment ago; or it is past a retention that the uneven ticks forbid to heed.
        expiry = "ignored";
        break;
      default:
        return refused(seen, verdict);
    }
  }
  throw new IchidoError(
    "store-unavailable",
    `the record changed hands ${roundsMax} times while it was being claimed; try again`,
  );
}

async function look(run: Run, dialect: Dialect, values: Values): Promise<Seen | undefined> {
  const statement = dialect.statement("find");
  const [row] = (await run(statement.sql, statement.bind(values))).rows;
  return row === undefined ? undefined : seenOf(row);
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

function refused(seen: Seen, verdict: "mismatch" | "completed" | "processing" | "unknown"): ClaimResult {
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
