/**
 * The state machine of a record, as pure functions: a row (or its absence), what is asked, and the moment give an answer
 * and, where something changes, the next row. The same object back means that nothing changed.
 *
 *   absent      ── claim ──────────────────────▶ processing
 *   processing  ── renew, startStep, finishStep ─▶ processing, lease longer
 *   processing  ── suspend, settle(hold) ───────▶ processing, lease ended (with an interim answer or a hold: in doubt)
 *   processing  ── complete, settle(adopt) ─────▶ completed
 *   processing  ── release, settle(release) ────▶ failed
 *   failed, or processing without a lease ── claim ──▶ processing, greater fence, next attempt
 *   completed, failed, or processing without a lease ── expiry, unless still needed ──▶ absent
 */
import type { OwnerToken } from "../../core/record.ts";
import type {
  Claim,
  ClaimRequest,
  ClaimResult,
  CompleteRequest,
  Fenced,
  FinishStepRequest,
  RenewRequest,
  SettleRequest,
  SettleResult,
  StepRequest,
  SuspendRequest,
} from "../../core/store.ts";
import type { Origin } from "../shared/claim-rules.ts";
import {
  bytesOf,
  copyBytes,
  copyIn,
  copyOut,
  fingerprintRowOf,
  isExpired,
  isLive,
  isSameRequest,
  isSealed,
  textOf,
  type Row,
  type StepRow,
} from "./row.ts";

export interface Moment {
  readonly nowMs: number;
  /** The clock has run evenly: what is past its retention may go. */
  readonly trusted: boolean;
  /** No record that was deleted had a greater fence. */
  readonly fenceFloor: number;
}

export interface Claimed {
  readonly row: Row | undefined;
  readonly result: ClaimResult;
}

export function claim(stored: Row | undefined, request: ClaimRequest, moment: Moment): Claimed {
  if (stored === undefined || (moment.trusted && isExpired(stored, moment.nowMs))) {
    const fence = nextFence(stored, moment);
    return granted(firstRow(request, fence, moment.nowMs));
  }
  const row = stored;
  const asked = fingerprintRowOf(request.fingerprint);
  if (!isSameRequest(row.fingerprint, asked)) return { row, result: { outcome: "mismatch" } };
  if (row.state === "completed") return { row, result: completed(row, moment.nowMs) };
  if (row.state === "failed") return granted(takenOver(row, request, moment, "failed"));
  const live = isLive(row, moment.nowMs);
  // An owner that left its record in doubt does not get it back by a copy of its claim that was under way meanwhile.
  if (row.owner === request.owner && (live || !isSealed(row))) {
    return granted(withLease(row, request.leaseMs, moment), { resent: true });
  }
  if (live) {
    const leaseLeftMs = (row.leaseEndMs ?? moment.nowMs) - moment.nowMs;
    return { row, result: { outcome: "processing", leaseLeftMs, attempts: row.attempts } };
  }
  if (row.holdReason !== undefined) return unknown(row);
  if (row.interim !== undefined) {
    return request.takeover === "open" ? granted(takenOver(row, request, moment, "suspended")) : unknown(row);
  }
  return request.takeover === "none" ? unknown(row) : granted(takenOver(row, request, moment, "lapsed"));
}

export interface Answered {
  readonly row: Row | undefined;
  readonly result: Fenced;
}

export function renew(row: Row | undefined, request: RenewRequest, moment: Moment): Answered {
  return owned(row, request, (held) => ({
    ...stillLeased(held, request.leaseMs, moment),
    updatedAtMs: held.updatedAtMs,
  }));
}

export function complete(row: Row | undefined, request: CompleteRequest, moment: Moment): Answered {
  if (row?.state === "completed" && row.owner === request.owner && row.fence === request.fence) {
    return { row, result: "ok" };
  }
  return owned(row, request, (held) => answered(held, request.response, moment));
}

/** On hold, the record waits for a person all the same: only the lease ends. */
export function release(row: Row | undefined, request: Claim, moment: Moment): Answered {
  return owned(row, request, (held) =>
    held.holdReason === undefined ? failed(held, moment) : { ...held, leaseEndMs: undefined },
  );
}

/** An interim answer or a hold that is there already stays: ending a lease again says nothing new. */
export function suspend(row: Row | undefined, request: SuspendRequest, moment: Moment): Answered {
  return owned(row, request, (held) => ({
    ...held,
    leaseEndMs: undefined,
    interim: request.interim === undefined ? held.interim : copyIn(request.interim),
    holdReason: request.holdReason ?? held.holdReason,
    updatedAtMs: moment.nowMs,
  }));
}

export function startStep(row: Row | undefined, request: StepRequest, moment: Moment): Answered {
  return owned(row, request, (held) => {
    const begun = withStep(held, request.name, moment);
    const start = (step: StepRow): StepRow =>
      step.name === request.name && step.result === undefined ? { ...step, lastStartedAtMs: moment.nowMs } : step;
    return stillLeased({ ...begun, steps: begun.steps.map(start) }, request.leaseMs, moment);
  });
}

/** The first result stays: a finish that is sent again after a lost reply changes nothing. */
export function finishStep(row: Row | undefined, request: FinishStepRequest, moment: Moment): Answered {
  return owned(row, request, (held) => {
    const begun = withStep(held, request.name, moment);
    const result = copyBytes(request.result);
    const finish = (step: StepRow): StepRow =>
      step.name === request.name && step.result === undefined ? { ...step, finishedAtMs: moment.nowMs, result } : step;
    return stillLeased({ ...begun, steps: begun.steps.map(finish) }, request.leaseMs, moment);
  });
}

export interface SettledRow {
  readonly row: Row | undefined;
  readonly result: SettleResult;
}

export function settle(row: Row | undefined, request: SettleRequest, moment: Moment): SettledRow {
  if (row === undefined) return { row, result: "absent" };
  if (row.state === "completed") return { row, result: "completed" };
  if (row.fence !== request.fence) return { row, result: "stale" };
  if (request.unlessHeld === true && row.holdReason !== undefined) return { row, result: "stale" };
  if (isLive(row, moment.nowMs)) return { row, result: "live" };
  const { actor, reason, fence, decision } = request;
  const entry = { atMs: moment.nowMs, actor, action: decision.kind, reason, fence };
  return { row: { ...decided(row, request, moment), audit: [...row.audit, entry] }, result: "ok" };
}

/** Nobody's token: no attempt can present it, so an owner that comes back after `adopt` or `release` is stale. */
// eslint-disable-next-line typescript/no-unsafe-type-assertion -- a constant of the branded form
const nobody = "0".repeat(32) as OwnerToken;

function decided(row: Row, request: SettleRequest, moment: Moment): Row {
  const { decision, reason } = request;
  if (decision.kind === "hold") {
    return { ...row, state: "processing", leaseEndMs: undefined, holdReason: reason, updatedAtMs: moment.nowMs };
  }
  const fenced: Row = { ...row, owner: nobody, fence: nextFence(row, moment) };
  if (decision.kind === "adopt") return answered(fenced, decision.response, moment);
  return failed({ ...fenced, steps: row.steps.filter((step) => step.result !== undefined) }, moment);
}

function owned(row: Row | undefined, proof: Claim, change: (held: Row) => Row): Answered {
  const holds = row?.state === "processing" && row.owner === proof.owner && row.fence === proof.fence;
  return holds ? { row: change(row), result: "ok" } : { row, result: "stale" };
}

/** Grows over owners, across deletion and a clock that stepped back; microseconds stay exact integers until 2255. */
function nextFence(row: Row | undefined, moment: Moment): number {
  return Math.max((row?.fence ?? 0) + 1, moment.fenceFloor + 1, Math.floor(moment.nowMs * 1_000));
}

function firstRow(request: ClaimRequest, fence: number, nowMs: number): Row {
  const { key, scopeHash, tenant, principal, operation } = request.identity;
  return {
    key,
    scopeHash: textOf(scopeHash),
    tenant,
    principal,
    operation,
    fingerprint: fingerprintRowOf(request.fingerprint),
    labels: Object.freeze({ ...request.labels }),
    state: "processing",
    owner: request.owner,
    origin: "new",
    fence,
    attempts: 1,
    doubtStays: request.doubtStays === true,
    leaseEndMs: nowMs + request.leaseMs,
    interim: undefined,
    holdReason: undefined,
    response: undefined,
    steps: [],
    audit: [],
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
    expiresAtMs: nowMs + request.retentionMs,
  };
}

function takenOver(row: Row, request: ClaimRequest, moment: Moment, origin: Origin): Row {
  const owner = { owner: request.owner, origin, fence: nextFence(row, moment), attempts: row.attempts + 1 };
  const doubtStays = row.doubtStays || request.doubtStays === true;
  return withLease({ ...row, ...owner, doubtStays, state: "processing" }, request.leaseMs, moment);
}

function withLease(row: Row, leaseMs: number, { nowMs }: Moment): Row {
  return { ...row, leaseEndMs: nowMs + leaseMs, updatedAtMs: nowMs };
}

/** What was under way when its owner or a person ended the lease must not keep others out. */
function stillLeased(row: Row, leaseMs: number, moment: Moment): Row {
  return row.leaseEndMs === undefined ? { ...row, updatedAtMs: moment.nowMs } : withLease(row, leaseMs, moment);
}

function withStep(row: Row, name: string, { nowMs }: Moment): Row {
  if (row.steps.some((step) => step.name === name)) return row;
  const times = { startedAtMs: nowMs, lastStartedAtMs: nowMs, finishedAtMs: undefined };
  return { ...row, steps: [...row.steps, { name, attempt: row.attempts, ...times, result: undefined }] };
}

function answered(row: Row, response: CompleteRequest["response"], { nowMs }: Moment): Row {
  const settled = { interim: undefined, holdReason: undefined, response: copyIn(response) };
  return { ...row, ...settled, state: "completed", updatedAtMs: nowMs };
}

function failed(row: Row, { nowMs }: Moment): Row {
  return { ...row, state: "failed", interim: undefined, holdReason: undefined, updatedAtMs: nowMs };
}

function granted(row: Row, again: { readonly resent?: true } = {}): Claimed {
  const { fence, attempts, origin, createdAtMs, expiresAtMs } = row;
  const canonical = bytesOf(row.fingerprint.canonical);
  const stepsStarted = row.steps.length;
  const more = { createdAtMs, expiresAtMs, ...again };
  return { row, result: { outcome: "granted", fence, attempt: attempts, origin, stepsStarted, canonical, ...more } };
}

function completed(row: Row, nowMs: number): ClaimResult {
  if (row.response === undefined) throw new Error("a completed record of the memory store has no answer");
  const { fence, attempts, createdAtMs, expiresAtMs } = row;
  const expiresInMs = Math.max(0, expiresAtMs - nowMs);
  const response = copyOut(row.response);
  return { outcome: "completed", response, fence, attempts, createdAtMs, expiresAtMs, expiresInMs };
}

function unknown(row: Row): Claimed {
  const interim = row.interim === undefined ? {} : { interim: copyOut(row.interim) };
  const hold = row.holdReason === undefined ? {} : { holdReason: row.holdReason };
  return { row, result: { outcome: "unknown", ...interim, ...hold, fence: row.fence, attempts: row.attempts } };
}
