/** COMMIT was sent and its answer did not come: the record is asked, and it knows once nobody is writing it. */
import { sleep } from "./deadline.ts";
import type { Environment } from "./environment.ts";
import type { Landed, LandedRequest } from "./store.ts";
import type { StoreCalls } from "./store-calls.ts";

/** `open`: it could not be told in time. The commit may still come. */
export type CommitOutcome = Exclude<Landed, "busy"> | "open";

const pauseMs = 100;
const pauseMsMax = 500;

/** Whatever comes of asking, and however late, changes nothing. */
export async function findCommitOutcome(
  parts: {
    readonly calls: Pick<StoreCalls, "landed">;
    readonly environment: Environment;
    /** No question is asked later than this. */
    readonly askMs: number;
  },
  request: LandedRequest,
): Promise<CommitOutcome> {
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
