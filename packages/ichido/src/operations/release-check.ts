/** Before a release: it runs the operation again, so somebody must know that nothing happened. Asks; changes nothing. */
import type { Store, StoredRecord } from "../core/contract/store.ts";
import { gather, type Probes } from "./evidence.ts";
import { effectsOf } from "./verdict.ts";

/** `done`: the provider did it. `unasked`: it could not be asked. `untold`: no probe can tell. */
export type ReleaseCheck =
  | { readonly outcome: "nothing" }
  | { readonly outcome: "done" | "unasked" | "untold"; readonly says: string };

export async function nothingHappened(store: Store, record: StoredRecord, probes: Probes): Promise<ReleaseCheck> {
  const evidence = await gather(store, record, probes);
  const asked = evidence.probes;
  if (asked.length === 0) return { outcome: "untold", says: "no probe can tell that nothing happened" };
  const ids = asked.flatMap(({ effects }) => effects.map(({ id }) => id));
  if (ids.length > 0) return { outcome: "done", says: `the provider did it (${ids.join(", ")}): adopt its answer` };
  const unasked = asked.flatMap(({ step, problem }) => (problem === undefined ? [] : [`${step}: ${problem}`]));
  if (unasked.length > 0)
    return { outcome: "unasked", says: `the provider could not be asked (${unasked.join("; ")})` };
  if (effectsOf(evidence).by !== "provider")
    return { outcome: "untold", says: "the record has no step that a probe could tell about" };
  return { outcome: "nothing" };
}
