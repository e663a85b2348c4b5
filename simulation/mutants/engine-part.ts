/** What the histories of the engine must show: the record, the policy of a request, the reconciler, the client. */
import { branchMutants } from "./branches.ts";
import { client } from "./client.ts";
import { deploys } from "./deploys.ts";
import { engine } from "./engine.ts";
import { lives } from "./lives.ts";
import type { Mutant } from "./mutant.ts";
import { outcomeMutants } from "./outcomes.ts";
import { recordFields } from "./record-fields.ts";
import { reconciler } from "./reconciler.ts";
import { record } from "./record.ts";
import { stepMutants } from "./steps.ts";

export const engineMutants: readonly Mutant[] = [
  ...record,
  ...recordFields,
  ...engine,
  ...outcomeMutants,
  ...stepMutants,
  ...branchMutants,
  ...reconciler,
  ...client,
  ...lives,
  ...deploys,
];
