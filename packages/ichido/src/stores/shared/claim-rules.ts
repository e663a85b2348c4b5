/**
 * What a claim means for the record it meets, as a pure function: for stores that decide in the program, with the record
 * locked or in one consistent read. Stores that decide in SQL or Lua state the same rules there; the store suite keeps
 * them alike. All times are microseconds by the store's clock.
 */
import { limits } from "../../core/defaults.ts";
import type { Fingerprint, RecordState } from "../../core/record.ts";
import type { ClaimResult, Takeover } from "../../core/store.ts";

/**
 * A lease further ahead than this was set by a clock that has since gone back, and counts as lapsed. Twice the longest
 * lease, so that a clock which steps back a little takes no record from under a living owner. SQL and Lua that state it in
 * numbers are held to it by `test/stores/lease-bound.test.ts`.
 */
export const leaseAbsurdUs = 2 * limits.leaseMsMax * 1_000;

/** Expiry is trusted within this many intervals of even ticks. */
export const tickGapIntervals = 3;

export interface HeldRecord {
  readonly state: RecordState;
  readonly owner: string;
  readonly raw: Uint8Array;
  readonly canonical: Uint8Array;
  readonly former?: Uint8Array | undefined;
  readonly leaseUs: number;
  readonly expiresUs: number;
  readonly stepsStarted: number;
  readonly interim: boolean;
  readonly held: boolean;
  readonly doubtStays: boolean;
}

export interface TickRow {
  readonly lastUs: number;
  readonly intervalUs: number;
  readonly steadySinceUs: number;
}

export interface ClaimTerms {
  readonly owner: string;
  readonly fingerprint: Fingerprint;
  readonly takeover: Takeover;
}

/** What the record keeps of how its owner came by it. */
export const origins = {
  "take-failed": "failed",
  "take-lapsed": "lapsed",
  "take-suspended": "suspended",
} as const satisfies Partial<Record<ClaimVerdict, Origin>>;

export type Origin = Extract<ClaimResult, { outcome: "granted" }>["origin"];

const originNames: readonly Origin[] = ["new", "failed", "lapsed", "suspended"];

/** A word that is none of them was written by another program: whoever holds the record then finds out what happened. */
export function originOf(text: string): Origin {
  return originNames.find((each) => each === text) ?? "lapsed";
}

export type ClaimVerdict =
  /** Past its retention: runs as new, under a greater fence. */
  | "expired"
  | "mismatch"
  | "completed"
  /** Already held by this owner: its reply was lost. It gets the stored origin again. */
  | "resend"
  /** Someone else is at work. */
  | "processing"
  /** In doubt, and this claim may not take it. */
  | "unknown"
  | "take-failed"
  | "take-lapsed"
  | "take-suspended";

export function isLive(record: Pick<HeldRecord, "state" | "leaseUs">, nowUs: number): boolean {
  return record.state === "processing" && record.leaseUs > nowUs && record.leaseUs <= nowUs + leaseAbsurdUs;
}

function isDoubtful(record: HeldRecord): boolean {
  return record.state === "processing" && (record.interim || record.held);
}

/** Whether retention applies to the record at all, now. */
export function mayExpire(record: HeldRecord, nowUs: number): boolean {
  if (record.state === "completed") return true;
  if (record.stepsStarted > 0) return false;
  return record.state === "failed" || !(record.doubtStays || isDoubtful(record) || isLive(record, nowUs));
}

export function isTrusted(tick: TickRow | undefined, nowUs: number): boolean {
  if (tick === undefined) return false;
  const gapUs = tickGapIntervals * tick.intervalUs;
  return nowUs >= tick.lastUs && nowUs - tick.lastUs <= gapUs && nowUs - tick.steadySinceUs >= gapUs;
}

/** A tick that comes late, or before the last one, starts the count anew. */
export function nextTick(tick: TickRow | undefined, nowUs: number, intervalUs: number): TickRow {
  const even = tick !== undefined && nowUs >= tick.lastUs && nowUs - tick.lastUs <= tickGapIntervals * intervalUs;
  return { lastUs: nowUs, intervalUs, steadySinceUs: even ? tick.steadySinceUs : nowUs };
}

/** Grows over distinct owners, and across deletion, because the clock seeds it. */
export function nextFence(formerFence: number, nowUs: number): number {
  return Math.max(formerFence + 1, nowUs);
}

/** `trusted` is asked only for a record past its retention: most claims never read the tick row. */
export function judgeClaim(record: HeldRecord, terms: ClaimTerms, nowUs: number, trusted: () => boolean): ClaimVerdict {
  if (record.expiresUs <= nowUs && mayExpire(record, nowUs) && trusted()) return "expired";
  if (!isSameRequest(record, terms.fingerprint)) return "mismatch";
  if (record.state === "completed") return "completed";
  if (record.state === "failed") return "take-failed";
  const live = isLive(record, nowUs);
  // An owner that left its record in doubt does not get it back by a claim that was under way meanwhile.
  if (record.owner === terms.owner && (live || !isDoubtful(record))) return "resend";
  if (live) return "processing";
  if (record.held) return "unknown";
  if (record.interim) return terms.takeover === "open" ? "take-suspended" : "unknown";
  return terms.takeover === "none" ? "unknown" : "take-lapsed";
}

/** Either side may be a version ahead of the other while a deploy rolls. */
export function isSameRequest(stored: Pick<HeldRecord, "raw" | "canonical" | "former">, asked: Fingerprint): boolean {
  return (
    isSameBytes(stored.raw, asked.raw) ||
    isSameBytes(stored.canonical, asked.canonical) ||
    isSameBytes(stored.canonical, asked.former) ||
    isSameBytes(stored.former, asked.canonical)
  );
}

function isSameBytes(one: Uint8Array | undefined, other: Uint8Array | undefined): boolean {
  if (one === undefined || one.length !== other?.length) return false;
  for (let index = 0; index < one.length; index += 1) if (one[index] !== other[index]) return false;
  return true;
}
