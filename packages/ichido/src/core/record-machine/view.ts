/** What can be read off a record at a given moment. */
import type { Identity, WrittenState, RecordState, StoredResponse } from "../contract/record.ts";
import type { ListQuery, Step, StoredRecord, StoreStats } from "../contract/store.ts";
import { leaseAbsurdUs, spentRetentions } from "./bounds.ts";
import { leavesDoubt } from "./owned.ts";
import { isAmong } from "./resources.ts";
import { toMs, type HeldRecord, type Standing, type StepRow, type WholeRecord } from "./record.ts";

type Lease = Pick<Standing, "state" | "leaseUs">;

/** No lease that was given ends later, unless the clock has gone back since. */
export function leaseEndMaxUs(nowUs: number): number {
  return nowUs + leaseAbsurdUs;
}

/** A living owner. A lease further ahead than any lease can be was written by a clock that has gone back since. */
export function isLive({ state, leaseUs }: Lease, nowUs: number): boolean {
  return state === "processing" && leaseUs > nowUs && leaseUs <= leaseEndMaxUs(nowUs);
}

/** Of one that a clock which has gone back since set too far ahead: it has lapsed, and nobody knows when. */
const absurdLeftMs = -1;

/** More than zero exactly while the owner lives; below zero: it lapsed that long ago; zero: ended, or not at work. */
export function leaseLeftMs(lease: Lease, nowUs: number): number {
  if (lease.state !== "processing" || lease.leaseUs === 0) return 0;
  return lease.leaseUs > nowUs && !isLive(lease, nowUs) ? absurdLeftMs : Math.ceil((lease.leaseUs - nowUs) / 1_000);
}

/** What is left of its retention. */
export function retentionLeftMs({ expiresUs }: Pick<Standing, "expiresUs">, nowUs: number): number {
  return Math.max(0, toMs(expiresUs - nowUs));
}

/**
 * The lease as the other rules take it, where the moment was read up to `waitUs` before the record: one that was given
 * meanwhile is no sign of a clock that went back.
 */
export function leaseSeen(leaseUs: number, nowUs: number, waitUs: number): number {
  const mostUs = leaseEndMaxUs(nowUs);
  return leaseUs <= mostUs + waitUs ? Math.min(leaseUs, mostUs) : leaseUs;
}

/** What is written in a record that is seen so: that a record is in doubt is never written. */
export function stateWritten(state: RecordState | undefined): WrittenState | undefined {
  return state === "unknown" ? "processing" : state;
}

/** Which answer it is that a record has, where there is one place for both. */
export function answersOf(
  state: WrittenState,
  answer: StoredResponse | undefined,
): Pick<HeldRecord, "interim" | "response"> {
  return {
    interim: state === "processing" ? answer : undefined,
    response: state === "completed" ? answer : undefined,
  };
}

type Doubt = Pick<Standing, "state" | "leaseUs" | "interim" | "holdReason">;

/** Suspended with an interim answer, which only `open` may take, or put on hold, which no claim may. */
export function isSealed(record: Omit<Doubt, "leaseUs">): boolean {
  return record.state === "processing" && leavesDoubt(record);
}

/** No owner is at work on it, or its owner took it over in doubt. */
export function isUnknown(record: Doubt, nowUs: number): boolean {
  return record.state === "processing" && (!isLive(record, nowUs) || isSealed(record));
}

export function stateSeen(record: Doubt, nowUs: number): RecordState {
  return isUnknown(record, nowUs) ? "unknown" : record.state;
}

/** Something may have happened outside that only this record remembers. */
export function isNeeded(record: Standing): boolean {
  if (record.state === "completed") return false;
  return record.stepsStarted > 0 || (record.state === "processing" && (record.doubtStays || isSealed(record)));
}

/** Past its retention and allowed to go, if the clock is trusted. */
export function isExpired(record: Standing, nowUs: number): boolean {
  return nowUs >= record.expiresUs && !isNeeded(record) && !isLive(record, nowUs);
}

type Aged = Pick<HeldRecord, "state" | "stepsStarted" | "createdUs" | "expiresUs">;

/**
 * Released, with steps in it, so long ago that no attempt comes back for their results. Whether each has one, the steps
 * say.
 */
export function isForsaken(record: Aged, nowUs: number): boolean {
  return record.state === "failed" && record.stepsStarted > 0 && nowUs >= forsakenUs(record);
}

function forsakenUs({ createdUs, expiresUs }: Aged): number {
  return expiresUs + spentRetentions * (expiresUs - createdUs);
}

/**
 * The moment from which a sweep may take the record; never, while it is needed. A lease far ahead is waited for. Results of
 * steps without an answer are of use to the next attempt alone: a claim finds them for as long as they lie there.
 */
export function dueUs(record: Standing & Aged & Pick<WholeRecord, "steps">): number | undefined {
  const isSpent = record.state === "failed" && record.steps.every((step) => step.finishedUs !== undefined);
  if (isSpent && record.stepsStarted > 0) return forsakenUs(record);
  if (isNeeded(record)) return undefined;
  return record.state === "processing" ? Math.max(record.expiresUs, record.leaseUs) : record.expiresUs;
}

/** Whether that moment has come. */
export function isDue(whenUs: number, nowUs: number): boolean {
  return whenUs <= nowUs;
}

/** Needed, though past its retention by then. */
export function outstays(record: Standing, thenUs: number): boolean {
  return isNeeded(record) && record.expiresUs < thenUs;
}

/** Worth waking those who wait for it: a renewed lease is not. */
export function isNews({ state, leaseUs }: Lease): boolean {
  return state !== "processing" || leaseUs === 0;
}

/** What a waiter finds when it looks by itself. */
export interface Look {
  /** Its fence, and whatever else of it a renewal does not change. */
  readonly mark: string;
  readonly isLive: boolean;
}

/** Worth asking again: no owner is at work, or the record is another one than at the first look. */
export function isNewsSince(firstMark: string, { mark, isLive: isAtWork }: Look): boolean {
  return !isAtWork || mark !== firstMark;
}

type Whose = Pick<Identity, "key" | "tenant" | "principal" | "operation">;

export function matches(
  whose: Whose,
  { labels, resources }: Pick<FirstClaim, "labels"> & Partial<Pick<WholeRecord, "resources">>,
  record: Standing,
  query: ListQuery,
  nowUs: number,
): boolean {
  return (
    (query.tenant === undefined || query.tenant === whose.tenant) &&
    (query.principal === undefined || query.principal === whose.principal) &&
    (query.operation === undefined || query.operation === whose.operation) &&
    (query.key === undefined || query.key === whose.key) &&
    (query.label === undefined || labels[query.label.name] === query.label.value) &&
    (query.resource === undefined || isAmong(resources ?? [], query.resource.kind, query.resource.id)) &&
    (query.state === undefined || query.state === stateSeen(record, nowUs))
  );
}

/** Each record is counted by the one state in which it is seen. */
export function summed(counts: Omit<StoreStats, "records">): StoreStats {
  const { processing, completed, failed, unknown } = counts;
  return { records: processing + completed + failed + unknown, ...counts };
}

export interface Tally {
  add(record: Standing & { readonly createdUs: number }, bodyBytes: number, nowUs: number): void;
  sum(): StoreStats;
}

export function createTally(): Tally {
  const count = { processing: 0, completed: 0, failed: 0, unknown: 0, bodyBytes: 0 };
  let sweepLagUs = 0;
  let oldestUnknownUs = 0;
  return {
    add(record, bodyBytes, nowUs) {
      const state = stateSeen(record, nowUs);
      count[state] += 1;
      count.bodyBytes += bodyBytes;
      if (state === "unknown") {
        oldestUnknownUs = Math.max(oldestUnknownUs, nowUs - record.createdUs);
      }
      if (isExpired(record, nowUs)) sweepLagUs = Math.max(sweepLagUs, nowUs - record.expiresUs);
    },
    sum: () => summed({ ...count, sweepLagMs: toMs(sweepLagUs), oldestUnknownMs: toMs(oldestUnknownUs) }),
  };
}

/** What was written down at first sight. */
export type FirstClaim = Pick<StoredRecord, "identity" | "fingerprint" | "labels">;

type Shown = Omit<HeldRecord, "fingerprint" | "doubtStays">;

/** A record as the contract shows it: of answers, only the one that means something in its state. */
export function recordView({ identity, fingerprint, labels }: FirstClaim, record: Shown, nowUs: number): StoredRecord {
  const { state, owner, origin, fence, attempts, stepsStarted, interim, holdReason, response } = record;
  return {
    identity,
    fingerprint,
    state: stateSeen(record, nowUs),
    owner,
    fence,
    attempts,
    ...(state === "processing" && { leaseLeftMs: leaseLeftMs(record, nowUs), origin }),
    stepsStarted,
    ...(state === "processing" && interim !== undefined && { interim }),
    ...(holdReason !== undefined && { holdReason }),
    ...(state === "completed" && response !== undefined && { response }),
    labels,
    createdAtMs: toMs(record.createdUs),
    updatedAtMs: toMs(record.updatedUs),
    expiresAtMs: toMs(record.expiresUs),
  };
}

type Begun = Pick<Step, "name" | "attempt" | "startedAtMs" | "lastStartedAtMs" | "ageMs" | "firstAgeMs">;
interface Finished {
  readonly finishedAtMs: number;
  readonly result: Uint8Array | undefined;
}

/** Where a server tells the ages: below zero by a clock that has gone back. */
export function stepTold(begun: Begun, finished: Finished | undefined): Step {
  const { name, attempt, startedAtMs, lastStartedAtMs, ageMs, firstAgeMs } = begun;
  return {
    name,
    state: finished === undefined ? "started" : "finished",
    ...(finished !== undefined && {
      result: finished.result ?? new Uint8Array(),
      finishedAtMs: finished.finishedAtMs,
    }),
    attempt,
    startedAtMs,
    lastStartedAtMs,
    ageMs: Math.max(0, ageMs),
    firstAgeMs: Math.max(0, firstAgeMs),
  };
}

export function stepView(step: StepRow, nowUs: number): Step {
  const { name, attempt, startedUs, lastStartedUs, finishedUs, result } = step;
  const times = { startedAtMs: toMs(startedUs), lastStartedAtMs: toMs(lastStartedUs) };
  const ages = { ageMs: toMs(nowUs - lastStartedUs), firstAgeMs: toMs(nowUs - startedUs) };
  const finished = finishedUs === undefined ? undefined : { finishedAtMs: toMs(finishedUs), result };
  return stepTold({ name, attempt, ...times, ...ages }, finished);
}
