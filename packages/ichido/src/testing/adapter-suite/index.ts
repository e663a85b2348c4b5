/**
 * The conformance suite of adapters: the cases of HTTP behaviour, tried on a real framework over real sockets.
 *
 *     import { describe, it } from "vitest";
 *     adapterSuite({ describe, it }, { name: "mine", ways: [], start, openStore });
 *
 * `start` builds the application that `harness.ts` describes. It needs nothing but `describe` and `it`, and asserts
 * with `node:assert/strict`. Every case has its own store and servers, so cases may run at the same time. The published
 * policy (T-05) comes from `ichido/policy`, and `ichido/conform` tries it from outside.
 */
import type { SuiteRunner } from "../store-suite/subject.ts";
import { answerCases } from "./answer-cases.ts";
import type { AdapterCase, Need } from "./case.ts";
import { concurrencyCases } from "./concurrency-cases.ts";
import { coreCases } from "./core-cases.ts";
import { expiryCases } from "./expiry-cases.ts";
import { failureCases } from "./failure-cases.ts";
import { fingerprintCases } from "./fingerprint-cases.ts";
import { fireCases } from "./fire-cases.ts";
import { headerCases } from "./header-cases.ts";
import { layerCases } from "./layer-cases.ts";
import { methodCases } from "./method-cases.ts";
import { outageCases } from "./outage-cases.ts";
import { processCases } from "./process-cases.ts";
import { replayCases } from "./replay-cases.ts";
import { withRig } from "./rig.ts";
import { scopeCases } from "./scope-cases.ts";
import type { AdapterSubject } from "./subject.ts";

export const adapterCases: readonly AdapterCase[] = [
  ...coreCases,
  ...headerCases,
  ...scopeCases,
  ...fingerprintCases,
  ...replayCases,
  ...failureCases,
  ...concurrencyCases,
  ...expiryCases,
  ...methodCases,
  ...fireCases,
  ...answerCases,
  ...layerCases,
  ...outageCases,
  ...processCases,
];

/** Registers one test for every case. Unknown ids in `subject.skip` are an error: a skip must not outlive its case. */
export function adapterSuite(runner: SuiteRunner, subject: AdapterSubject): void {
  const ids = new Set(adapterCases.map((each) => each.id));
  if (ids.size !== adapterCases.length) throw new Error("two cases have the same id");
  const strange = Object.keys(subject.skip ?? {}).filter((id) => !ids.has(id));
  if (strange.length > 0) throw new Error(`subject.skip names cases that do not exist: ${strange.join(", ")}`);

  runner.describe(`adapter: ${subject.name}`, () => {
    for (const each of adapterCases) {
      const title = `${each.id} ${each.behaviour}`;
      const reason = reasonToSkip(each, subject);
      const body = (): Promise<void> => withRig(subject, each.run);
      if (reason === undefined) runner.it(title, body);
      else runner.it.skip(`${title} [skipped: ${reason}]`, body);
    }
  });
}

function lacks(need: Need, subject: AdapterSubject): string | undefined {
  switch (need) {
    case "processes":
      return subject.openProcesses === undefined ? "this store is not seen by other processes" : undefined;
    case "transactions":
      return subject.transactions === true ? undefined : "this store cannot join a transaction";
    case "parsed-bodies":
      return subject.parsedBodies === true ? undefined : "this framework always gives the bytes";
    default: {
      const [kind, name = ""] = need.split(":");
      const has: readonly string[] = (kind === "way" ? subject.ways : subject.layers) ?? [];
      return has.includes(name) ? undefined : `this framework has no ${kind} ${name}`;
    }
  }
}

function reasonToSkip(each: AdapterCase, subject: AdapterSubject): string | undefined {
  const given = subject.skip?.[each.id];
  if (given !== undefined) return given;
  for (const need of each.needs ?? []) {
    const reason = lacks(need, subject);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

export type { AdapterCase } from "./case.ts";
export { countedEffects, filedEffects, type Effects, type TransactionalEffects } from "./effects.ts";
export { createHarness, signatureOf, type Harness, type HarnessOptions, type Layer } from "./harness.ts";
export { planHeader, writePlan, type HarnessAnswer, type HarnessCall, type Plan } from "./plan.ts";
export { routePrefix, type HarnessRoute } from "./routes.ts";
export type {
  AdapterStore,
  AdapterSubject,
  ProcessOptions,
  RunningApp,
  ServerProcess,
  ServerProcesses,
} from "./subject.ts";
