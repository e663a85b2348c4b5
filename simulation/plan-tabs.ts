/** People with two tabs, who change their cart, and whose browser keeps nothing for a while: drawn apart. */
import type { Item, PersonPlan } from "./plan.ts";
import { createRandom } from "./random.ts";

/** Every seed that is not chosen here keeps its history. */
export function tabsOf(seed: number, persons: readonly PersonPlan[], leaseMs: number, spanMs: number): readonly Item[] {
  const random = createRandom(seed, 1_983);
  if (!random.chance(0.12)) return [];
  return persons.flatMap((_, person): readonly Item[] => {
    const items: Item[] = [];
    const atMs = (): number => random.between(0, spanMs);
    for (let each = random.int(1, 3); each > 0; each -= 1) items.push({ kind: "tab", atMs: atMs(), person });
    if (random.chance(0.6)) items.push({ kind: "edit", atMs: random.between(0, spanMs * 0.7), person });
    if (random.chance(0.4)) {
      const forMs = leaseMs * random.between(0.5, 3);
      items.push({ kind: "full", atMs: random.between(0, spanMs * 0.5), person, forMs });
    }
    return items;
  });
}
