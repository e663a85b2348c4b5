import type { Execution } from "../core/contract/decision.ts";
import type { NeutralResponse } from "../core/contract/message.ts";

/** Resolves when the context itself made the answer; pending for ever otherwise. */
export function providedBy(execution: Pick<Execution, "onProvided">): Promise<NeutralResponse> {
  return new Promise((resolve) => execution.onProvided(resolve));
}
