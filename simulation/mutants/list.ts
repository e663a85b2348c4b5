/** The rules that are undone, one by one. */
import { client } from "./client.ts";
import { engine } from "./engine.ts";
import type { Mutant } from "./mutant.ts";
import { reconciler } from "./reconciler.ts";
import { record } from "./record.ts";

export const mutants: readonly Mutant[] = [...record, ...engine, ...reconciler, ...client];
