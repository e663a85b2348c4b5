/** What a claim means for the record it meets, what becomes of the record, and what the claim is answered. */
import type { StoredResponse } from "../contract/record.ts";
import type { ClaimOrigin, ClaimRequest, ClaimResult, StoredRecord } from "../contract/store.ts";
import { leaseEndUs, nextFence, toMs, usOf, type Hash, type HeldRecord, type Moment, type Prints } from "./record.ts";
import { isAtWork } from "./seen.ts";
import { isExpired, isLive, isSealed, leaseLeftMs } from "./view.ts";

export type ClaimVerdict =
  /** No record, or one past its retention: the identity runs as new. */
  | "new"
  | "mismatch"
  | "completed"
  /** Already held by this owner: its reply was lost. It keeps the origin by which it came by the record. */
  | "resend"
  /** Someone else is at work. */
  | "processing"
  /** In doubt, and this claim may not take it. */
  | "unknown"
  /** Taken over. */
  | Exclude<ClaimOrigin, "new">;

export type Refusal = Extract<ClaimVerdict, "mismatch" | "completed" | "processing" | "unknown">;

/** The claimant gets nothing. Nothing changes but what `noted` says. */
export function isRefusal(verdict: ClaimVerdict): verdict is Refusal {
  return verdict === "mismatch" || verdict === "completed" || verdict === "processing" || verdict === "unknown";
}

export type ClaimTerms = Pick<ClaimRequest, "owner" | "takeover" | "leaseMs" | "retentionMs" | "doubtStays">;

export function judgeClaim(
  record: HeldRecord | undefined,
  terms: Pick<ClaimTerms, "owner" | "takeover">,
  asked: Prints,
  { nowUs, trusted }: Pick<Moment, "nowUs" | "trusted">,
): ClaimVerdict {
  if (record === undefined || (trusted && isExpired(record, nowUs))) return "new";
  if (!isSameRequest(record.fingerprint, asked)) return "mismatch";
  if (record.state !== "processing") return record.state;
  const live = isLive(record, nowUs);
  // An owner that left its record in doubt does not get it back by a copy of its claim that was under way meanwhile.
  if (record.owner === terms.owner && (live || !isSealed(record))) return "resend";
  if (live) return "processing";
  if (record.holdReason !== undefined) return "unknown";
  if (record.interim !== undefined) return terms.takeover === "open" ? "suspended" : "unknown";
  return terms.takeover === "none" ? "unknown" : "lapsed";
}

/** Either side may be a version ahead of the other while a deploy rolls. */
export function isSameRequest(stored: Prints, asked: Prints): boolean {
  return (
    isSameHash(stored.raw, asked.raw) ||
    isSameHash(stored.canonical, asked.canonical) ||
    isSameHash(stored.canonical, asked.former) ||
    isSameHash(stored.former, asked.canonical)
  );
}

export function isSameHash(one: Hash | undefined, other: Hash | undefined): boolean {
  if (one === undefined || typeof one === "string" || typeof other === "string") {
    return one !== undefined && one === other;
  }
  if (one.length !== other?.length) return false;
  for (let index = 0; index < one.length; index += 1) if (one[index] !== other[index]) return false;
  return true;
}

/** The fields of a record at first sight; `formerFence` is that of an expired one, or 0. */
export function born(terms: ClaimTerms, fingerprint: Prints, formerFence: number, moment: Moment): HeldRecord {
  const { nowUs } = moment;
  return {
    state: "processing",
    owner: terms.owner,
    origin: "new",
    fence: nextFence(formerFence, moment),
    attempts: 1,
    doubtStays: terms.doubtStays === true,
    leaseUs: leaseEndUs(terms.leaseMs, nowUs),
    fingerprint,
    interim: undefined,
    holdReason: undefined,
    response: undefined,
    stepsStarted: 0,
    createdUs: nowUs,
    updatedUs: nowUs,
    expiresUs: nowUs + usOf(terms.retentionMs),
  };
}

/** Where a server made the record and told its first fence alone: it is the microsecond of its birth. */
export function bornWith(fence: number, terms: ClaimTerms, fingerprint: Prints): HeldRecord {
  return born(terms, fingerprint, 0, { nowUs: fence, trusted: false, fenceFloor: 0 });
}

/** Made for this owner by the very statement that returned it: an older one of the same owner was claimed before. */
export function isBornNow(
  record: Pick<HeldRecord, "owner" | "fence" | "createdUs">,
  { owner }: Pick<ClaimTerms, "owner">,
  nowUs: number,
): boolean {
  return record.createdUs === nowUs && record.fence === record.createdUs && record.owner === owner;
}

/** The record in the hands of the claimant. An interim answer stays: a new owner who vanishes too leaves as much in doubt. */
export function held<R extends HeldRecord>(
  record: R,
  terms: ClaimTerms,
  verdict: Exclude<ClaimVerdict, Refusal | "new">,
  moment: Moment,
): R {
  const { nowUs } = moment;
  const leaseUs = leaseEndUs(terms.leaseMs, nowUs);
  if (verdict === "resend") return { ...record, leaseUs, updatedUs: nowUs };
  return {
    ...record,
    leaseUs,
    updatedUs: nowUs,
    state: "processing",
    owner: terms.owner,
    origin: verdict,
    fence: nextFence(record.fence, moment),
    attempts: record.attempts + 1,
    doubtStays: record.doubtStays || terms.doubtStays === true,
  };
}

/**
 * What a store answers to a claim that it sent more than once: whatever refused one copy may be gone when the other lands,
 * and what was granted to one, and is released, is granted to the other.
 */
export function sentAgain(result: ClaimResult): ClaimResult {
  return { ...result, unheard: true };
}

/**
 * The record after a refusal, the very same one where nothing changes. Whoever is told of a doubt under a policy by which it
 * must outlive retention relies on that, and no owner may ever come to say so: the record may have been made under another
 * policy.
 */
export function noted<R extends HeldRecord>(record: R, terms: Pick<ClaimTerms, "doubtStays">, verdict: Refusal): R {
  if (verdict !== "unknown" || record.doubtStays || terms.doubtStays !== true) return record;
  return { ...record, doubtStays: true };
}

/**
 * The former owner vanished, or left its outcome open. Released, the next attempt would not ask what happened: such a record
 * is given back by ending the lease alone.
 */
export function isInDoubt({ origin }: { readonly origin: ClaimOrigin }): boolean {
  return origin === "lapsed" || origin === "suspended";
}

type Told<Outcome extends ClaimResult["outcome"]> = Extract<ClaimResult, { outcome: Outcome }>;

// What a claim is answered, by the numbers of whoever decided: this machine, or a server. An answer that is right as it is
// told stays the same object, for there is one for every request.

/** `resent`: its owner held the record already. */
export function grantedOf(told: Omit<Told<"granted">, "resent">, resent: boolean): Told<"granted"> {
  return resent ? { ...told, resent: true } : told;
}

/** Past its retention an answer is told for as long as it lies there, and is good for no time. */
export function completedOf(told: Told<"completed">): Told<"completed"> {
  return told.expiresInMs < 0 ? { ...told, expiresInMs: 0 } : told;
}

/** Rounded up: who comes back when it is over must not come too early. */
export function processingOf(leaseLeftMs: number, attempts: number): Told<"processing"> {
  return { outcome: "processing", leaseLeftMs: Math.max(0, Math.ceil(leaseLeftMs)), attempts };
}

export function unknownOf(
  fence: number,
  attempts: number,
  interim: StoredResponse | undefined,
  holdReason: string | undefined,
): Told<"unknown"> {
  return {
    outcome: "unknown",
    ...(interim !== undefined && { interim }),
    ...(holdReason !== undefined && { holdReason }),
    fence,
    attempts,
  };
}

const comeBackMs = 1_000;

/** The answer where the record cannot be looked at: another attempt is at work, or may be. Come back soon. */
export const stillProcessing: Told<"processing"> = processingOf(comeBackMs, 1);

/** Another transaction holds the record for too long: its last committed state is enough to refuse, and for no more. */
export function refusalWhileLocked(
  record: Pick<StoredRecord, "fingerprint" | "attempts" | "leaseLeftMs"> | undefined,
  asked: Prints,
): ClaimResult {
  if (record === undefined) return stillProcessing;
  if (!isSameRequest(record.fingerprint, asked)) return { outcome: "mismatch" };
  const { leaseLeftMs: leftMs = 0, attempts } = record;
  return processingOf(isAtWork(record) ? leftMs : comeBackMs, attempts);
}

/** `record` is as the claim left it, `canonical` its hash as bytes. */
export function grantOf(
  record: HeldRecord,
  canonical: Uint8Array,
  verdict: Exclude<ClaimVerdict, Refusal>,
): Told<"granted"> {
  const told = {
    outcome: "granted",
    fence: record.fence,
    attempt: record.attempts,
    origin: record.origin,
    stepsStarted: record.stepsStarted,
    canonical,
    createdAtMs: toMs(record.createdUs),
    expiresAtMs: toMs(record.expiresUs),
  } as const;
  return grantedOf(told, verdict === "resend");
}

export function refusalOf(record: HeldRecord, verdict: Refusal, nowUs: number): ClaimResult {
  const { fence, attempts, response, createdUs, expiresUs } = record;
  switch (verdict) {
    case "mismatch":
      return { outcome: "mismatch" };
    case "processing":
      return processingOf(leaseLeftMs(record, nowUs), attempts);
    case "completed": {
      if (response === undefined) throw new TypeError("a completed record has no answer");
      return completedOf({
        outcome: "completed",
        response,
        fence,
        attempts,
        createdAtMs: toMs(createdUs),
        expiresAtMs: toMs(expiresUs),
        expiresInMs: toMs(expiresUs - nowUs),
      });
    }
    case "unknown":
      return unknownOf(fence, attempts, record.interim, record.holdReason);
  }
}
