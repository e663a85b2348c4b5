/** Where a process can be killed, by what it is doing. */
import type { FaultName } from "ichido/testing";
import type { Scenario } from "./matrix-shop.ts";

export const points: Readonly<Record<Scenario, readonly FaultName[]>> = {
  pays: [
    "before-claim",
    "after-claim",
    "before-handler",
    "before-step-start",
    "after-step-start",
    "before-step-finish",
    "after-step-finish",
    "before-renew",
    "after-renew",
    "before-complete",
    "after-complete",
    "before-commit",
    "after-commit",
    "after-handler",
  ],
  fails: ["after-handler", "before-release", "after-release"],
  doubts: ["before-suspend", "after-suspend"],
  orders: ["before-claim", "after-claim", "before-handler", "before-complete", "before-commit", "after-commit"],
};
