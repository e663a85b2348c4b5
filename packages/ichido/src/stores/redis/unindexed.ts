/**
 * Records that could not be made findable when it was told what finds them: the index is a key of its own, perhaps on another
 * server. This process tries again with completions and ticks; one that dies before leaves it to the next claim of the key.
 */
import type { Identity } from "../../core/contract/record.ts";
import type { Names } from "./names.ts";

/** As long as the index is away, requests go on; whoever is beyond the bound is left to the next claim of the key. */
const unindexedMax = 10_000;

export interface Unindexed {
  note(identity: Identity): void;
  /** Never rejects, and is waited for by nobody. Costs nothing where nothing is missing. */
  tryAgain(): void;
}

export function createUnindexed(names: Names, indexAgain: (identity: Identity) => Promise<void>): Unindexed {
  const missing = new Map<string, Identity>();
  let trying = false;

  async function tryAll(): Promise<void> {
    for (const [name, identity] of missing) {
      // Taken out before: what is noted again meanwhile stays.
      missing.delete(name);
      try {
        await indexAgain(identity);
      } catch {
        // Behind the others: perhaps only its own server is away.
        missing.set(name, identity);
        return;
      }
    }
  }

  return {
    note(identity) {
      const name = names.record(identity);
      if (missing.size < unindexedMax || missing.has(name)) missing.set(name, identity);
    },
    tryAgain() {
      if (trying || missing.size === 0) return;
      trying = true;
      void tryAll().finally(() => (trying = false));
    },
  };
}
