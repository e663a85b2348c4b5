/**
 * The conformance suite of stores: every guarantee of `core/contract/store.ts`, tried on a real store.
 *
 *     import { describe, it } from "vitest";
 *     storeSuite({ describe, it }, { name: "mine", open: async () => ({ store, close: async () => {} }) });
 *
 * It needs nothing but `describe` and `it`, and asserts with `node:assert/strict`.
 */
import { attemptCases } from "./attempt-cases.ts";
import type { StoreCase } from "./case.ts";
import { claimCases } from "./claim-cases.ts";
import { completionCases } from "./completion-cases.ts";
import { expiryCases } from "./expiry-cases.ts";
import { fenceCases } from "./fence-cases.ts";
import { forgetCases } from "./forget-cases.ts";
import { historyCases } from "./history-cases.ts";
import { inspectionCases } from "./inspection-cases.ts";
import { landedCases } from "./landed-cases.ts";
import { listingCases } from "./listing-cases.ts";
import { mismatchCases } from "./mismatch-cases.ts";
import { withRig } from "./rig.ts";
import { resourceCases } from "./resource-cases.ts";
import { settleCases } from "./settle-cases.ts";
import { stepCases } from "./step-cases.ts";
import type { StoreSubject, SuiteRunner } from "./subject.ts";
import { sweepCases } from "./sweep-cases.ts";
import { takeoverCases } from "./takeover-cases.ts";

export const storeCases: readonly StoreCase[] = [
  ...claimCases,
  ...mismatchCases,
  ...takeoverCases,
  ...fenceCases,
  ...completionCases,
  ...landedCases,
  ...expiryCases,
  ...sweepCases,
  ...stepCases,
  ...settleCases,
  ...listingCases,
  ...resourceCases,
  ...attemptCases,
  ...forgetCases,
  ...inspectionCases,
  ...historyCases,
];

/** Registers one test for every case. Unknown ids in `subject.skip` are an error: a skip must not outlive its case. */
export function storeSuite(runner: SuiteRunner, subject: StoreSubject): void {
  const ids = new Set(storeCases.map((each) => each.id));
  const strange = Object.keys(subject.skip ?? {}).filter((id) => !ids.has(id));
  if (strange.length > 0) throw new Error(`subject.skip names cases that do not exist: ${strange.join(", ")}`);
  const { histories = 1 } = subject;
  if (!Number.isInteger(histories) || histories < 1) {
    throw new Error(`subject.histories: expected an integer from 1, got ${histories}`);
  }

  runner.describe(`store: ${subject.name}`, () => {
    for (const each of storeCases) {
      const reason = reasonToSkip(each, subject);
      const body = (): Promise<void> => withRig(subject, (rig) => each.run(rig));
      if (reason === undefined) runner.it(each.title, body);
      else runner.it.skip(`${each.title} [skipped: ${reason}]`, body);
    }
  });
}

function reasonToSkip(each: StoreCase, subject: StoreSubject): string | undefined {
  const given = subject.skip?.[each.id];
  if (given !== undefined) return given;
  if (each.needs === "clock" && subject.movesClock !== true) return "the clock of this store cannot be moved here";
  if (each.needs === "watch" && subject.watches !== true) return "this store has no watch";
  if (each.needs === "transactions" && subject.joins !== true) return "this store joins no transaction here";
  return undefined;
}

export type { StoreCase } from "./case.ts";
export type { OpenedStore, StoreClock, StoreSubject, SuiteIt, SuiteRunner } from "./subject.ts";
export {
  sampleFingerprint,
  sampleIdentity,
  sampleOwner,
  sampleResponse,
  type SampleIdentityParts,
  type SampleResponseParts,
} from "./samples.ts";
