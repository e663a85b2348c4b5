/** What the owner of a record may do with it; anyone else is `stale` and changes nothing. */
import type { RecordState, StoredResponse, WrittenState } from "../contract/record.ts";
import type {
  Claim,
  CompleteRequest,
  Fenced,
  FinishStepRequest,
  Landed,
  LandedRequest,
  RenewRequest,
  StepRequest,
  SuspendRequest,
} from "../contract/store.ts";
import { leaseEndUs, usOf, type HeldRecord, type Standing, type StepRow, type WholeRecord } from "./record.ts";

export interface Answered<R> {
  readonly record: R | undefined;
  readonly result: Fenced;
}

type Proof = Pick<Claim, "owner" | "fence">;
/** As much of a record as tells whose it is. */
export type Holding = Pick<HeldRecord, "owner" | "fence"> & { readonly state: RecordState };

/** What a verb that is sent again after its reply was lost finds done, as long as no other owner had the record since. */
export const stateAfter = { complete: "completed", release: "failed" } as const satisfies Record<string, WrittenState>;

function isOf(record: Holding | undefined, proof: Proof): record is Holding {
  return record?.owner === proof.owner && record.fence === proof.fence;
}

function owned<R extends HeldRecord>(
  record: R | undefined,
  proof: Proof,
  done: WrittenState | undefined,
  change: (held: R) => R,
): Answered<R> {
  if (record === undefined || !isOf(record, proof)) return { record, result: "stale" };
  if (record.state === "processing") return { record: change(record), result: "ok" };
  return { record, result: record.state === done ? "ok" : "stale" };
}

/** What was under way when its owner or a person ended the lease must not keep others out: an ended lease stays ended. */
function leased(record: HeldRecord, leaseMs: number, nowUs: number): number {
  return record.leaseUs === 0 ? 0 : leaseEndUs(leaseMs, nowUs);
}

/** Also revives a lapsed lease that was not taken. `updatedUs` stays: a heartbeat is not a change anyone waits for. */
export function renew<R extends HeldRecord>(
  record: R | undefined,
  request: Omit<RenewRequest, "identity">,
  nowUs: number,
): Answered<R> {
  return owned(record, request, undefined, (held) => ({ ...held, leaseUs: leased(held, request.leaseMs, nowUs) }));
}

export function complete<R extends HeldRecord>(
  record: R | undefined,
  request: Proof & Pick<CompleteRequest, "response">,
  nowUs: number,
): Answered<R> {
  return owned(record, request, stateAfter.complete, (held) => answered(held, request.response, nowUs));
}

/** On hold, the record waits for a person all the same: only the lease ends. */
export function release<R extends HeldRecord>(record: R | undefined, proof: Proof, nowUs: number): Answered<R> {
  return owned(record, proof, stateAfter.release, (held) =>
    held.holdReason === undefined ? failed(held, nowUs) : { ...held, leaseUs: 0, updatedUs: nowUs },
  );
}

/** Whether something was said that a store notes beside the ended lease: an interim answer, or a hold. */
export function leavesDoubt({ interim, holdReason }: Pick<Standing, "interim" | "holdReason">): boolean {
  return interim !== undefined || holdReason !== undefined;
}

/** An interim answer or a hold that is there already stays: ending a lease again says nothing new. */
export function suspend<R extends HeldRecord>(
  record: R | undefined,
  request: Omit<SuspendRequest, "identity">,
  nowUs: number,
): Answered<R> {
  return owned(record, request, undefined, (held) => ({
    ...held,
    leaseUs: 0,
    interim: request.interim ?? held.interim,
    holdReason: request.holdReason ?? held.holdReason,
    updatedUs: nowUs,
  }));
}

export function startStep<R extends WholeRecord>(
  record: R | undefined,
  request: Omit<StepRequest, "identity">,
  nowUs: number,
): Answered<R> {
  return withStep(record, request, nowUs, (step) => ({ ...step, lastStartedUs: nowUs }));
}

/** A step that was not started counts as started now. */
export function finishStep<R extends WholeRecord>(
  record: R | undefined,
  request: Omit<FinishStepRequest, "identity">,
  nowUs: number,
): Answered<R> {
  return withStep(record, request, nowUs, (step) => ({ ...step, finishedUs: nowUs, result: request.result }));
}

/** The first result stays, and with it the last start: neither verb changes a finished step. */
function withStep<R extends WholeRecord>(
  record: R | undefined,
  request: Omit<StepRequest, "identity">,
  nowUs: number,
  change: (unfinished: StepRow) => StepRow,
): Answered<R> {
  return owned(record, request, undefined, (held) => {
    const { name } = request;
    const known = held.steps.some((step) => step.name === name);
    const times = { startedUs: nowUs, lastStartedUs: nowUs, finishedUs: undefined };
    const begun: StepRow = { name, attempt: held.attempts, ...times, result: undefined };
    const steps = known
      ? held.steps.map((step) => (step.name === name && step.finishedUs === undefined ? change(step) : step))
      : [...held.steps, change(begun)];
    return {
      ...held,
      steps,
      stepsStarted: steps.length,
      leaseUs: leased(held, request.leaseMs, nowUs),
      updatedUs: nowUs,
    };
  });
}

/** A store may leave the lease to the heartbeat, from the second step on, while it is about as long as was asked for. */
export function mayLeaveLease(
  { stepsStarted, leaseUs }: Pick<HeldRecord, "stepsStarted" | "leaseUs">,
  leaseMs: number,
  nowUs: number,
): boolean {
  const askedUs = usOf(leaseMs);
  const leftUs = leaseUs - nowUs;
  return stepsStarted > 0 && leftUs >= askedUs / 2 && leftUs <= askedUs * 2;
}

export function answered<R extends HeldRecord>(record: R, response: StoredResponse, nowUs: number): R {
  return {
    ...record,
    state: "completed",
    leaseUs: 0,
    interim: undefined,
    holdReason: undefined,
    response,
    updatedUs: nowUs,
  };
}

export function failed<R extends HeldRecord>(record: R, nowUs: number): R {
  return { ...record, state: "failed", leaseUs: 0, interim: undefined, holdReason: undefined, updatedUs: nowUs };
}

/** How long a transaction that may be under way is waited for by one question. It may be asked again. */
export const landedWaitMs = 1_000;

/** What the record says about a commit, once no transaction writes it. */
export function landedOf(record: Holding | undefined, request: Proof & Pick<LandedRequest, "claimedWithin">): Landed {
  const isOurs = isOf(record, request);
  if (isOurs && record.state === "completed") return "committed";
  // A claim that was undone with its transaction leaves the record as it was before, or none.
  if (request.claimedWithin === true) return record?.state === "completed" ? "lost" : "not-landed";
  return isOurs && record.state !== "failed" ? "not-landed" : "lost";
}
