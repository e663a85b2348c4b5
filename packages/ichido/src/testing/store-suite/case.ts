import type { Identity } from "../../core/contract/record.ts";
import type { Rig } from "./rig.ts";
import { sampleIdentity } from "./samples.ts";

/** One thing that must be true of every store. */
export interface StoreCase {
  /** Stable: what a subject's `skip` names. */
  readonly id: string;
  /** Begins with the guarantee (`core/contract/store.ts`) it proves. */
  readonly title: string;
  /** The case cannot be tried without it. */
  readonly needs?: "clock" | "watch" | "transactions";
  run(rig: Rig): Promise<void>;
}

type Cases = Readonly<Record<string, (rig: Rig, identity: Identity) => Promise<void>>>;

/**
 * Cases by `id: what must be true`; each gets one identity, which is enough for most. The guarantee that a title begins
 * with is the first part of the id.
 */
export function defineCases(cases: Cases): readonly StoreCase[] {
  return Object.entries(cases).map(([name, run]) => {
    const [, id, guarantee, what] = /^((S\d+)-\S+): (.+)$/.exec(name) ?? [];
    if (id === undefined) throw new Error(`not the name of a case: ${name}`);
    return { id, title: `${guarantee} ${what}`, run: (rig) => run(rig, sampleIdentity("key")) };
  });
}

export function casesNeeding(needs: NonNullable<StoreCase["needs"]>, cases: Cases): readonly StoreCase[] {
  return defineCases(cases).map((each) => ({ ...each, needs }));
}
