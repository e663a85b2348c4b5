import type { Rig } from "./rig.ts";

/** `way:x`: the framework writes answers in the way `x`. `layer:x`: its application can have the layer `x` in front. */
export type Need = "processes" | "transactions" | "parsed-bodies" | `way:${string}` | `layer:${string}`;

export interface AdapterCase {
  /** Unique, beginning with the id in the table of cases: `H-02`, `H-02 strict`. */
  readonly id: string;
  /** The rest of the title. */
  readonly behaviour: string;
  readonly needs?: readonly Need[];
  readonly run: (rig: Rig) => Promise<void>;
}

export function defineCase(
  id: string,
  behaviour: string,
  run: AdapterCase["run"],
  needs: readonly Need[] = [],
): AdapterCase {
  return { id, behaviour, run, needs };
}
