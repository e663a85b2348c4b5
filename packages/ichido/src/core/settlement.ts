/** Decisions by hand on records whose outcome is unknown, with the name of who decided and why. */
import { answerOf } from "./answer.ts";
import { IchidoError } from "./errors.ts";
import type { AnswerLike } from "./options.ts";
import type { Identity } from "./record.ts";
import { recordedOf } from "./recorder.ts";
import { parseOperationId } from "./scope.ts";
import type { SettleRequest, SettleResult, Store } from "./store.ts";

/** An engine, or its store. */
export type StoreHolder = Store | { readonly store: Store };

export function storeOf(holder: StoreHolder): Store {
  return "store" in holder ? holder.store : holder;
}

export interface Settlement {
  /** The record: its identity, or its `operationId` (of a 202, the console or the command line). */
  readonly record: Identity | string;
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
  /** The fence that was looked at: another one means that somebody moved the record meanwhile. Default: as it is now. */
  readonly fence?: number;
}

const textLengthMax = 1_000;

function checkText(name: string, value: string): void {
  if (typeof value !== "string" || value.trim() === "" || value.length > textLengthMax) {
    throw new IchidoError(
      "option-invalid",
      `${name}: expected 1 to ${textLengthMax} characters, so that the audit says who decided and why`,
    );
  }
}

export function decisionOf(decision: Settlement["decision"]): SettleRequest["decision"] {
  if (decision.kind !== "adopt") return decision;
  return { kind: "adopt", response: recordedOf(answerOf(decision.answer)) };
}

export async function settle(holder: StoreHolder, settlement: Settlement): Promise<SettleResult> {
  const { record, actor, reason } = settlement;
  checkText("actor", actor);
  checkText("reason", reason);
  const decision = decisionOf(settlement.decision);
  const store = storeOf(holder);
  const parsed = typeof record === "string" ? parseOperationId(record) : record;
  if (parsed === undefined) return "absent";
  const identity = { tenant: undefined, principal: undefined, operation: "", ...parsed };
  const fence = settlement.fence ?? (await store.find(identity))?.fence;
  return fence === undefined ? "absent" : store.settle({ identity, fence, decision, actor, reason });
}
