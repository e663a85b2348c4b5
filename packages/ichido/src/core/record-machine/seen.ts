/** What a record tells whoever looked at it: the contract shows it as it was a moment ago, and by now it may be another. */
import type { OwnerToken } from "../contract/record.ts";
import type { ClaimOrigin, Step, StoredRecord } from "../contract/store.ts";
import { leavesDoubt } from "./owned.ts";

type Timed = Pick<StoredRecord, "leaseLeftMs">;

/** For how long it lives on, or how long ago it lapsed. */
export interface LeaseTold {
  readonly is: "live" | "lapsed" | "ended";
  readonly ms: number;
}

/** Undefined where no attempt runs or is in doubt. */
export function leaseTold({ leaseLeftMs }: Timed): LeaseTold | undefined {
  if (leaseLeftMs === undefined) return undefined;
  if (leaseLeftMs === 0) return { is: "ended", ms: 0 };
  return leaseLeftMs > 0 ? { is: "live", ms: leaseLeftMs } : { is: "lapsed", ms: -leaseLeftMs };
}

/** Its owner lives. */
export function isAtWork({ leaseLeftMs = 0 }: Timed): boolean {
  return leaseLeftMs > 0;
}

/** How long ago its lease lapsed: zero where it was ended, whenever that was, and below zero while it lives. */
export function lapsedForMs({ leaseLeftMs = 0 }: Timed): number {
  return 0 - leaseLeftMs;
}

/** Waits for a person: no claim takes it, and no policy settles it. */
export function isOnHold({ holdReason }: Pick<StoredRecord, "holdReason">): boolean {
  return holdReason !== undefined;
}

/**
 * What the next claim of the same content finds: nothing in its way, an answer, an owner at work, a doubt that only a
 * person or a reconciler may end, or one that a takeover may.
 */
export type Found = "free" | "answer" | "owner" | "sealed" | "doubt";

export function claimFinds(
  record: Pick<StoredRecord, "state" | "leaseLeftMs" | "interim" | "holdReason"> | undefined,
): Found {
  if (record === undefined || record.state === "failed") return "free";
  if (record.state === "completed") return "answer";
  if (isAtWork(record)) return "owner";
  return leavesDoubt(record) ? "sealed" : "doubt";
}

/** Of a claim whose answer was lost: no other owner came, and nobody ended the lease, which lives or lapsed by itself. */
export function isLeftBy(
  { owner, leaseLeftMs = 0 }: Pick<StoredRecord, "owner" | "leaseLeftMs">,
  owners: Pick<ReadonlySet<OwnerToken>, "has">,
): boolean {
  return leaseLeftMs !== 0 && owners.has(owner);
}

/**
 * How such a claim goes back. What ran under its fence and was left open stays open. A store that does not tell the origin
 * may be holding a doubt as well.
 */
export function goesBackAs({ fence, origin }: Pick<StoredRecord, "fence" | "origin">, ranUnder?: number): ClaimOrigin {
  return ranUnder === fence ? "lapsed" : (origin ?? "lapsed");
}

/** Nobody noted its result: its call may have been made, and under its reference alone. */
export function isUnfinished({ state }: Pick<Step, "state">): boolean {
  return state === "started";
}

type Lifetime = Pick<StoredRecord, "createdAtMs" | "expiresAtMs">;

/** What the record was made with. Its answer, and a doubt about it, come later and have what is left of it. */
export function retentionToldMs({ createdAtMs, expiresAtMs }: Lifetime): number {
  return expiresAtMs - createdAtMs;
}

/**
 * For how long an answer of this claim may be told without asking the store. Of a record that was there before, nobody but
 * the store knows what is left.
 */
export function answerGoodForMs(grant: Lifetime & { readonly origin: ClaimOrigin }): number | undefined {
  return grant.origin === "new" ? retentionToldMs(grant) : undefined;
}

type Fence = Pick<StoredRecord, "fence">;

/** Neither a new owner nor a decision, but for a hold, came since. */
export function isAsSeen(record: Fence | undefined, seen: Fence): boolean {
  return record?.fence === seen.fence;
}

/** A hold leaves the fence as it is: whoever decides over one must have seen that very hold. */
export function isSeenByFence(record: Pick<StoredRecord, "holdReason">): boolean {
  return !isOnHold(record);
}
