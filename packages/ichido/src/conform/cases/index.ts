import type { ConformCase } from "../case.ts";
import { concurrencyCases } from "./concurrency.ts";
import { coreCases } from "./core.ts";
import { failureCases } from "./failure.ts";
import { fingerprintCases } from "./fingerprint.ts";
import { headerCases } from "./headers.ts";
import { otherCases } from "./other.ts";
import { replayCases } from "./replay.ts";
import { scopeCases } from "./scope.ts";

export const conformCases: readonly ConformCase[] = [
  ...coreCases,
  ...headerCases,
  ...scopeCases,
  ...fingerprintCases,
  ...replayCases,
  ...failureCases,
  ...concurrencyCases,
  ...otherCases,
];

/** Cases that a client cannot see, with what they would need. */
export const unobservable: Readonly<Record<string, { readonly title: string; readonly reason: string }>> = {
  "E-07": { title: "a process killed before its effect", reason: "needs a server that can be killed" },
  "E-08": { title: "a process killed after its effect", reason: "needs a server that can be killed" },
  "E-09": { title: "a store that cannot be reached", reason: "needs a store that can be stopped" },
  "C-05": { title: "a handler slower than its lease", reason: "needs a lease that can be set" },
  "T-04": { title: "clocks that are off", reason: "needs a clock that can be set" },
  "M-02": { title: "PUT and DELETE", reason: "APIs choose whether to protect them" },
  "X-03": { title: "a failed precondition leaves the key free", reason: "a part of X-01" },
};
