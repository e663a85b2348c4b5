/**
 * What a grant of Redis means beside the marker that the database holds. A life is all that happens to an identity from
 * its first claim to its expiry, named by its first fence: a grant within the life that the marker knows comes from a Redis
 * that remembers, any other from one that forgot.
 */
export type MarkerState = "started" | "stepped" | "held" | "completed";

export interface MarkerRow {
  readonly life: number;
  readonly owner: string;
  readonly fence: number;
  readonly attempts: number;
  readonly state: MarkerState;
  readonly fingerprint: string;
  readonly sight: string;
  readonly head: string | undefined;
  readonly body: Uint8Array | undefined;
  readonly hold: string | undefined;
  /** By the database's clock. */
  readonly ageUs: number;
  readonly leftUs: number;
}

export interface MarkerClaim {
  readonly id: string;
  readonly owner: string;
  readonly fence: number;
  readonly attempts: number;
  /** `new` began a life; anything else went on with one. */
  readonly origin: "new" | "own" | "failed" | "lapsed" | "suspended";
  readonly life: number;
  /** The life that Redis itself, its clock trusted, found expired and replaced by this grant. */
  readonly formerLife: number | undefined;
  readonly fingerprint: string;
  readonly sight: string;
  readonly retentionMs: number;
}

export type MarkerVerdict =
  /** Written, or about to be: the operation may run. */
  | "own"
  /** The next attempt of the same life. */
  | "take"
  /** The marker's life is over. */
  | "replace"
  /** Redis forgot: give it back what the marker knows, and ask it again. */
  | "restore"
  /** Somebody was granted the record after us: ask Redis again. */
  | "again";

/** A start that never came to an end goes a day after its retention: no owner lives so long without Redis. */
export const startGraceUs = 86_400_000_000;

export function judge(row: MarkerRow, claim: MarkerClaim): MarkerVerdict {
  if (row.owner === claim.owner && row.fence === claim.fence && row.state !== "completed") return "own";
  if (row.life !== claim.life) {
    if (claim.origin === "new" && claim.formerLife === row.life) return "replace";
    return isOver(row) ? "replace" : "restore";
  }
  if (row.state === "completed") return "restore";
  return row.fence > claim.fence ? "again" : "take";
}

function isOver({ state, leftUs }: MarkerRow): boolean {
  return (state === "completed" && leftUs <= 0) || (state === "started" && leftUs <= -startGraceUs);
}
