/**
 * The rules of a record, as pure functions of the record, what is asked of it, and the moment. They stand in TypeScript
 * nowhere else: the memory store is a shell around them, SQLite, MySQL and Redis decide by them whatever they decide in the
 * program, and what PostgreSQL and Redis decide in SQL and Lua is held to them by vectors (`test/stores/vectors`).
 *
 *   absent      ── claim ──────────────────────▶ processing
 *   processing  ── renew, startStep, finishStep ─▶ processing, lease longer
 *   processing  ── suspend, settle(hold) ───────▶ processing, lease ended (with an interim answer or a hold: in doubt)
 *   processing  ── complete, settle(adopt) ─────▶ completed
 *   processing  ── release, settle(release) ────▶ failed
 *   failed      ── settle(hold) ────────────────▶ processing, lease ended
 *   failed, or processing without a lease ── claim ──▶ processing, greater fence, next attempt
 *   completed, failed ── forget ─────────────────▶ completed, a tombstone that holds nothing
 *   completed, failed, or processing without a lease ── expiry, unless still needed ──▶ absent
 *
 * Times are microseconds by the store's clock: whole numbers, exact until 2255, and what fences are made of. A transition
 * never changes the record it is given; the same object back means that nothing changed. It keeps what it does not know, so
 * that a store may have columns of its own.
 */
import type { OwnerToken, WrittenState, StoredResponse } from "../contract/record.ts";
import type { AuditEntry, Resource } from "../contract/history.ts";
import type { ClaimOrigin } from "../contract/store.ts";

/** A hash as a store holds it: bytes, or a text of one character a byte. */
export type Hash = string | Uint8Array;

export interface Prints {
  readonly raw: Hash;
  readonly canonical: Hash;
  readonly former?: Hash | undefined;
}

/** What decides whether a record is at work, in doubt, or past its time. */
export interface Standing {
  readonly state: WrittenState;
  /** The end of the lease, while `processing`; 0: its owner or a person ended it. */
  readonly leaseUs: number;
  readonly interim?: StoredResponse | undefined;
  readonly holdReason?: string | undefined;
  readonly stepsStarted: number;
  readonly doubtStays: boolean;
  readonly expiresUs: number;
}

/** What every verb but those of steps reads and writes. */
export interface HeldRecord extends Standing {
  readonly owner: OwnerToken;
  readonly origin: ClaimOrigin;
  readonly fence: number;
  readonly attempts: number;
  readonly fingerprint: Prints;
  readonly response?: StoredResponse | undefined;
  readonly createdUs: number;
  readonly updatedUs: number;
}

export interface StepRow {
  readonly name: string;
  readonly attempt: number;
  readonly startedUs: number;
  readonly lastStartedUs: number;
  readonly finishedUs: number | undefined;
  readonly result: Uint8Array | undefined;
}

export interface WholeRecord extends HeldRecord {
  /** In the order of their first start; `stepsStarted` of them. */
  readonly steps: readonly StepRow[];
  readonly audit: readonly AuditEntry[];
  /** In the order in which they were told, each once. */
  readonly resources: readonly Resource[];
}

export interface Moment {
  readonly nowUs: number;
  /** The clock has run evenly: what is past its retention may go. Asked only about a record that `isExpired`. */
  readonly trusted: boolean;
  /** No record that was deleted had a greater fence; 0 where the clock alone must do. */
  readonly fenceFloor: number;
}

/** Grows over distinct owners, across deletion and a clock that stepped back. */
export function nextFence(formerFence: number, { nowUs, fenceFloor }: Pick<Moment, "nowUs" | "fenceFloor">): number {
  return Math.max(formerFence + 1, fenceFloor + 1, nowUs);
}

/** Of two owners of a record, or of what they left, the one that came later. */
export function cameLater(one: Pick<HeldRecord, "fence">, other: Pick<HeldRecord, "fence">): boolean {
  return one.fence > other.fence;
}

/** The floor once a record of that fence is gone. */
export function floorAfter(fenceFloor: number, goneFence: number): number {
  return Math.max(fenceFloor, goneFence);
}

const originNames: readonly ClaimOrigin[] = ["new", "failed", "lapsed", "suspended"];

/** A word that is none of them was written by another program: the next owner then has to find out what happened. */
export function originOf(text: string): ClaimOrigin {
  return originNames.find((each) => each === text) ?? "lapsed";
}

/** Where a store keeps no word for whoever had the record first. */
export function originKept(text: string | undefined, attempts: number): ClaimOrigin {
  return text === undefined && attempts === 1 ? "new" : originOf(text ?? "");
}

export const usOf = (ms: number): number => Math.ceil(ms * 1_000);

export function leaseEndUs(leaseMs: number, nowUs: number): number {
  return nowUs + usOf(leaseMs);
}

export const toMs = (us: number): number => Math.floor(us / 1_000);
