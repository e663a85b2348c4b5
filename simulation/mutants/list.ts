/** The rules that are undone, one by one: a line for each part of the simulation. */
import { engineMutants } from "./engine-part.ts";
import { eventsMutants } from "./events.ts";
import type { Mutant } from "./mutant.ts";
import { transactionsMutants } from "./transactions.ts";

export const mutants: readonly Mutant[] = [...engineMutants, ...eventsMutants, ...transactionsMutants];
