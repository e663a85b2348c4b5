import { freshKey, type App, type Rig } from "./rig.ts";

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

type Cases = Readonly<Record<string, (rig: Rig, key: string) => Promise<void>>>;

/** Cases by `id: behaviour`, which start their applications themselves; each with a key that was never used. */
export function defineCases(cases: Cases): readonly AdapterCase[] {
  return Object.entries(cases).map(([name, run]) => {
    const [, id, behaviour] = /^([^:]+): (.+)$/.exec(name) ?? [];
    if (id === undefined || behaviour === undefined) throw new Error(`not the name of a case: ${name}`);
    return { id, behaviour, run: (rig) => run(rig, freshKey()) };
  });
}

export function casesNeeding(needs: readonly Need[], cases: Cases): readonly AdapterCase[] {
  return defineCases(cases).map((each) => ({ ...each, needs }));
}

type AppRun = (app: App, key: string, rig: Rig) => Promise<void>;

/** Cases for which one application with the usual settings is enough. */
export function appCases(cases: Readonly<Record<string, AppRun>>): readonly AdapterCase[] {
  return Object.entries(cases).flatMap(([name, run]) =>
    defineCases({ [name]: async (rig, key) => run(await rig.start(), key, rig) }),
  );
}
