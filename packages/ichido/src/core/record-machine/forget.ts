/** What stays of a record whose contents a person had erased: that it is done, and what it was asked for, as a hash. */
import type { ForgetRequest, ForgetResult } from "../contract/history.ts";
import type { HeaderLine, OwnerToken, RecordState, StoredResponse } from "../contract/record.ts";
import { nobody } from "./bounds.ts";
import { answered } from "./owned.ts";
import { nextFence, toMs, type HeldRecord, type Moment, type WholeRecord } from "./record.ts";
import { stateSeen } from "./view.ts";

/** Lines of a tombstone are never sent, so this one can say what it stands for. */
export const forgottenLine: HeaderLine = ["ichido-forgotten", "true"];

/** Of a record that had no answer. */
export const forgottenStatus = 410;

export const forgetAction = "forget";

export function isForgotten(response: StoredResponse | undefined): boolean {
  return response?.kind === "tombstone" && response.headers.some(([name]) => name === forgottenLine[0]);
}

/** Of a record that was looked at: nothing stands in the way where this is undefined. */
export function forgetRefusalSeen({
  state,
  response,
}: {
  readonly state: RecordState;
  readonly response?: StoredResponse | undefined;
}): "unknown" | "live" | "forgotten" | undefined {
  if (state === "unknown") return "unknown";
  if (state === "processing") return "live";
  return isForgotten(response) ? "forgotten" : undefined;
}

/** Nothing stands in the way where this is undefined. */
export function forgetRefusal(
  record: HeldRecord | undefined,
  request: Pick<ForgetRequest, "fence">,
  nowUs: number,
): Exclude<ForgetResult, "ok"> | undefined {
  if (record === undefined) return "absent";
  const seen = forgetRefusalSeen({ state: stateSeen(record, nowUs), response: record.response });
  return seen ?? (record.fence === request.fence ? undefined : "stale");
}

export function tombstoneOf(status: number = forgottenStatus): StoredResponse {
  return { kind: "tombstone", status, headers: [forgottenLine], body: new Uint8Array(0) };
}

/** Results of steps go too, so that no attempt may come back for them: also a record that failed is done from now on. */
export function forgotten<R extends WholeRecord>(
  record: R,
  { actor, reason, fence }: Pick<ForgetRequest, "actor" | "reason" | "fence">,
  moment: Pick<Moment, "nowUs" | "fenceFloor">,
): R {
  // eslint-disable-next-line typescript/no-unsafe-type-assertion -- a constant of the branded form
  const fenced: R = { ...record, owner: nobody as OwnerToken, fence: nextFence(record.fence, moment) };
  const entry = { atMs: toMs(moment.nowUs), actor, action: forgetAction, reason, fence };
  return {
    ...answered(fenced, tombstoneOf(record.response?.status), moment.nowUs),
    steps: [],
    stepsStarted: 0,
    resources: [],
    audit: [...record.audit.map((each) => ({ ...each, reason: "" })), entry],
  };
}
