/**
 * What became of COMMIT. Where its answer did not come the record is asked, which knows once no transaction writes it.
 */
import { sleep } from "../contract/deadline.ts";
import type { EngineParts } from "./engine-parts.ts";
import { FenceLost } from "./steps.ts";
import type { Landed, LandedRequest } from "../contract/store.ts";
import { StoreFailure } from "./store-calls.ts";
import { TransactionAborted } from "../contract/transaction.ts";

/** `open`: not known in time. The commit may still come. */
export type CommitOutcome = Exclude<Landed, "busy"> | "open";

const pauseMs = 100;
const pauseMsMax = 500;

/** The server refused a statement, or undid the transaction itself: nothing was committed, and no COMMIT was sent. */
export function wasAborted(error: unknown): boolean {
  return (error instanceof StoreFailure ? error.cause : error) instanceof TransactionAborted;
}

/** `error`: what the transaction ended with, where that is known. Whatever comes of asking, and however late, changes nothing. */
export async function findCommitOutcome(
  { settings, calls }: Pick<EngineParts, "settings" | "calls">,
  request: LandedRequest,
  error?: unknown,
): Promise<CommitOutcome> {
  if (error instanceof FenceLost) return "lost";
  if (wasAborted(error)) return "not-landed";
  const { environment, storeTimeoutMs } = settings;
  /** No question is asked later than this. */
  const untilMs = environment.monotonicMs() + storeTimeoutMs;
  for (let asks = 1; ; asks += 1) {
    try {
      const landed = await calls.landed(request);
      if (landed !== "busy") return landed;
    } catch {
      // The store may be back in a moment.
    }
    const waitMs = Math.min(pauseMs * asks, pauseMsMax);
    if (environment.monotonicMs() + waitMs >= untilMs) return "open";
    await sleep(environment, waitMs);
  }
}
