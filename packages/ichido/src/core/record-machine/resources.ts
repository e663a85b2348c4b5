/** What an operation made, as its record keeps it. */
import { limits } from "../contract/defaults.ts";
import type { Resource } from "../contract/history.ts";

/** Each once, in the order told; past the bound the first ones stay. The same list back means that nothing changed. */
export function withTold(known: readonly Resource[], told: readonly Resource[] | undefined): readonly Resource[] {
  const fresh = (told ?? []).filter(
    ({ kind, id }, at, all) => !isAmong(known, kind, id) && !isAmong(all.slice(0, at), kind, id),
  );
  return fresh.length === 0 ? known : [...known, ...fresh].slice(0, limits.resourcesMax);
}

export function isAmong(resources: readonly Resource[], kind: string, id: string): boolean {
  return resources.some((each) => each.kind === kind && each.id === id);
}
