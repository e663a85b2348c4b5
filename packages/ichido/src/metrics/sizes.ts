/** Sizes that a database counts for us: asked for once for many readers, and not at every scrape. */
import { withDeadline } from "../core/contract/deadline.ts";
import type { Environment } from "../core/contract/environment.ts";

export interface SizesOptions {
  /** How long an answer is taken from memory. */
  readonly keepMs: number;
  readonly scanTimeoutMs: number;
  readonly environment: Environment;
}

/** Keeps what it was told for `keepMs`, also that there was no answer: `undefined`. */
export function cachedSizes<Sizes>(
  ask: () => Promise<Sizes>,
  { keepMs, scanTimeoutMs, environment }: SizesOptions,
): () => Promise<Sizes | undefined> {
  let current: Promise<Sizes | undefined> | undefined;
  let untilMs = 0;
  return () => {
    if (current !== undefined && environment.monotonicMs() < untilMs) return current;
    untilMs = Number.POSITIVE_INFINITY;
    current = withDeadline(environment, scanTimeoutMs, ask)
      .catch(() => undefined)
      .finally(() => {
        untilMs = environment.monotonicMs() + keepMs;
      });
    return current;
  };
}
