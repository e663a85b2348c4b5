/** What the record says about a commit, once nobody is writing it. */
import type { Landed, LandedRequest, StoredRecord } from "../../core/store.ts";

/** How long a transaction that may be under way is waited for by one question. Whoever asks may ask again. */
export const landedWaitMs = 1_000;

/** As much of a record as tells. */
export type Holding = Pick<StoredRecord, "state" | "owner" | "fence">;

export function landedOf(record: Holding | undefined, { owner, fence, claimedWithin }: LandedRequest): Landed {
  const isOurs = record?.owner === owner && record.fence === fence;
  if (isOurs && record.state === "completed") return "committed";
  // A claim that was undone with its transaction leaves the record as it was before, or none.
  if (claimedWithin === true) return record?.state === "completed" ? "lost" : "not-landed";
  return isOurs && record.state === "processing" ? "not-landed" : "lost";
}
