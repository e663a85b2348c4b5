/** Moments that the page compares with those of records are of one clock: the store's. */
import type { ConsoleParts } from "./parts.ts";

export async function storeNowMs({ store }: Pick<ConsoleParts, "store">): Promise<number> {
  return (await store.inspect?.())?.nowMs ?? Date.now();
}
