/**
 * What became of COMMIT. Where its answer did not come the record is asked, and it knows once nobody is writing it.
 */
import { sleep } from "./deadline.ts";
import type { Environment } from "./environment.ts";
import { FenceLost } from "./steps.ts";
import type { Landed, LandedRequest } from "./store.ts";
import { StoreFailure, type StoreCalls } from "./store-calls.ts";
import { TransactionAborted } from "./transaction.ts";

/** `open`: it could not be told in time. The commit may still come. */
export type CommitOutcome = Exclude<Landed, "busy"> | "open";

const pauseMs = 100;
const pauseMsMax = 500;

/** The server refused a statement, or undid the transaction itself: nothing was committed, and nobody asked for a commit. */
export function wasAborted(error: unknown): boolean {
  return (error instanceof StoreFailure ? error.cause : error) instanceof TransactionAborted;
}

/** `error`: what the transaction ended with, where that is known. Whatever comes of asking, and however late, changes nothing. */
export async function findCommitOutcome(
  parts: {
    readonly calls: Pick<StoreCalls, "landed">;
    readonly environment: Environment;
    /** No question is asked later than this. */
    readonly askMs: number;
  },
  request: LandedRequest,
  error?: unknown,
): Promise<CommitOutcome> {
  if (error instanceof FenceLost) return "lost";
  if (wasAborted(error)) return "not-landed";
  const { environment } = parts;
  const untilMs = environment.monotonicMs() + parts.askMs;
  for (let asks = 1; ; asks += 1) {
    try {
      const landed = await parts.calls.landed(request);
      if (landed !== "busy") return landed;
    } catch {
      // The store may be back in a moment.
    }
    const waitMs = Math.min(pauseMs * asks, pauseMsMax);
    if (environment.monotonicMs() + waitMs >= untilMs) return "open";
    await sleep(environment, waitMs);
  }
}
