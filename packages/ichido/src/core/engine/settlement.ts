/** Decisions by hand on records whose outcome is unknown, with the name of who decided and why. */
import { knownOptions, optionInvalid } from "../contract/option-checks.ts";
import { answerOf } from "./answer.ts";
import { systemEnvironment } from "../contract/environment.ts";
import type { AnswerLike } from "../contract/options.ts";
import type { Identity } from "../contract/record.ts";
import { recordedOf } from "./recorder.ts";
import type { SettleRequest, SettleResult, StoredRecord } from "../contract/store.ts";
import { callsOf, type StoreHolder } from "./store-holder.ts";

export interface Settlement {
  /** The record as `store.list`, `store.find` or `ichido.findOperation` gave it, or its identity. */
  readonly record: Pick<StoredRecord, "identity" | "fence"> | Identity;
  /**
   * `adopt`: it happened, and this is its answer from now on. `release`: it did not happen, the next attempt runs. `hold`:
   * nobody runs it until a person decides again.
   */
  readonly decision:
    | { readonly kind: "adopt"; readonly answer: AnswerLike }
    | { readonly kind: "release" }
    | { readonly kind: "hold" };
  /** Who decided. Kept in the audit. */
  readonly actor: string;
  readonly reason: string;
  /**
   * The fence that was looked at: another one means that the record was changed meanwhile. Default: that of the record
   * as it was given, else as it is now.
   */
  readonly fence?: number;
}

const textLengthMax = 1_000;

export function checkAuditText(name: string, value: string): void {
  if (typeof value === "string" && value.trim() !== "" && value.length <= textLengthMax) return;
  throw optionInvalid(name, `1 to ${textLengthMax} characters, so that the audit says who decided and why`, value);
}

const kinds = ["adopt", "release", "hold"] as const;

function checkDecision(decision: unknown): void {
  const { kind } = Object(decision) as { readonly kind?: unknown };
  if (kinds.some((each) => each === kind)) return;
  throw optionInvalid(
    "decision",
    '{ kind: "release" }, { kind: "hold" } or { kind: "adopt", answer: { status, headers, body } }',
    decision,
  );
}

export function decisionOf(decision: Settlement["decision"]): SettleRequest["decision"] {
  checkDecision(decision);
  if (decision.kind !== "adopt") return { kind: decision.kind };
  return { kind: "adopt", response: recordedOf(answerOf(decision.answer)) };
}

function identityOf(record: Settlement["record"]): {
  readonly identity: Partial<Identity> & Pick<Identity, "scopeHash" | "key">;
  readonly fence?: number;
} {
  if (typeof record === "object" && record !== null && "identity" in record) return record;
  if (typeof record === "object" && record !== null && "scopeHash" in record) return { identity: record };
  throw optionInvalid("record", "a record of store.list, store.find or findOperation, or its identity", record);
}

export async function settle(holder: StoreHolder, settlement: Settlement): Promise<SettleResult> {
  knownOptions("settle", settlement, { record: true, fence: true, decision: true, actor: true, reason: true });
  const { record, actor, reason } = settlement;
  checkAuditText("actor", actor);
  checkAuditText("reason", reason);
  const decision = decisionOf(settlement.decision);
  const calls = callsOf(holder, { environment: systemEnvironment, emit: () => undefined });
  const seen = identityOf(record);
  const identity = { tenant: undefined, principal: undefined, operation: "", ...seen.identity };
  const fence = settlement.fence ?? seen.fence ?? (await calls.find(identity))?.fence;
  // What is known here the person could not see: an answer that the store has yet to take. A hold leaves it as it is.
  if (!(await calls.writeOwn(identity)) && decision.kind !== "hold") return "live";
  return fence === undefined ? "absent" : calls.settle({ identity, fence, decision, actor, reason });
}
