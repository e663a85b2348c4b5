/** A decision on a record in doubt, by a person or in the name of a policy. */
import type { OwnerToken } from "../contract/record.ts";
import type { SettleRequest, SettleResult, StoredRecord } from "../contract/store.ts";
import { nobody } from "./bounds.ts";
import { answered, failed } from "./owned.ts";
import { nextFence, toMs, type HeldRecord, type Moment, type WholeRecord } from "./record.ts";
import { isAtWork } from "./seen.ts";
import { isLive } from "./view.ts";

type Terms = Omit<SettleRequest, "identity">;

/** Nothing stands in the way where this is undefined. */
export function settleRefusal(
  record: Pick<HeldRecord, "state" | "fence" | "leaseUs" | "holdReason"> | undefined,
  request: Pick<Terms, "fence" | "unlessHeld">,
  nowUs: number,
): Exclude<SettleResult, "ok"> | undefined {
  if (record === undefined) return "absent";
  if (record.state === "completed") return "completed";
  if (record.fence !== request.fence) return "stale";
  if (request.unlessHeld === true && record.holdReason !== undefined) return "stale";
  return isLive(record, nowUs) ? "live" : undefined;
}

/** Of a record that was looked at: nothing stands in the way where this is undefined. */
export function settleRefusalSeen(
  record: Pick<StoredRecord, "state" | "leaseLeftMs">,
): Extract<SettleResult, "completed" | "live"> | undefined {
  if (record.state === "completed") return "completed";
  return isAtWork(record) ? "live" : undefined;
}

/** The record as the decision leaves it, but for its steps and its audit row. */
export function decided<R extends HeldRecord>(
  record: R,
  { decision, reason }: Pick<Terms, "decision" | "reason">,
  moment: Pick<Moment, "nowUs" | "fenceFloor">,
): R {
  const { nowUs } = moment;
  if (decision.kind === "hold") {
    return { ...record, state: "processing", leaseUs: 0, holdReason: reason, updatedUs: nowUs };
  }
  // eslint-disable-next-line typescript/no-unsafe-type-assertion -- a constant of the branded form
  const fenced: R = { ...record, owner: nobody as OwnerToken, fence: nextFence(record.fence, moment) };
  return decision.kind === "adopt" ? answered(fenced, decision.response, nowUs) : failed(fenced, nowUs);
}

/**
 * After a person's release, steps without a result did not happen. A policy speaks of the operation as a whole: what became
 * of a step is asked by the step's own `onUnknown`.
 */
export function dropsUnfinished({ decision, unlessHeld }: Pick<Terms, "decision" | "unlessHeld">): boolean {
  return decision.kind === "release" && unlessHeld !== true;
}

export interface Settled<R> {
  readonly record: R | undefined;
  readonly result: SettleResult;
}

export function settle<R extends WholeRecord>(
  record: R | undefined,
  request: Terms,
  moment: Pick<Moment, "nowUs" | "fenceFloor">,
): Settled<R> {
  const refusal = settleRefusal(record, request, moment.nowUs);
  if (record === undefined || refusal !== undefined) return { record, result: refusal ?? "absent" };
  const { actor, reason, fence, decision } = request;
  const entry = { atMs: toMs(moment.nowUs), actor, action: decision.kind, reason, fence };
  const steps = dropsUnfinished(request) ? record.steps.filter((step) => step.finishedUs !== undefined) : record.steps;
  const next = decided(record, request, moment);
  return { record: { ...next, steps, stepsStarted: steps.length, audit: [...record.audit, entry] }, result: "ok" };
}
