/**
 * How many outcomes are open, for the navigation of every screen. Asked for by one at a time and kept for a few seconds: a
 * store that is slow with it must neither hold a page up nor take more than one place.
 */
import type { Store } from "../core/contract/store.ts";

/** Enough for a badge. */
const countedMax = 100;
const keptMs = 3_000;
const waitMs = 250;

/** Undefined where it is not known yet. */
export type OpenCount = () => Promise<number | undefined>;

export function createOpenCount(store: Pick<Store, "list">): OpenCount {
  let known: number | undefined;
  let askedMs = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> | undefined;

  async function ask(): Promise<void> {
    try {
      known = (await store.list({ state: "unknown", limit: countedMax })).records.length;
      askedMs = performance.now();
    } catch {
      known = undefined;
    } finally {
      asking = undefined;
    }
  }

  return async () => {
    if (performance.now() - askedMs < keptMs) return known;
    asking ??= ask();
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, waitMs);
    await Promise.race([asking, late.promise]);
    clearTimeout(timer);
    return known;
  };
}
