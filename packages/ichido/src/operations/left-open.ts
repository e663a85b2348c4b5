/**
 * Runs that left the outcome of their record open. The log knows that a handler ran, and what was answered; what became
 * of the record shows in the record itself, in requests that were refused for it, and in what people decided since.
 */
import type { AuditEntry, LoggedAttempt } from "../core/contract/history.ts";
import type { StoredRecord } from "../core/contract/store.ts";

interface Known {
  readonly record: Pick<StoredRecord, "state">;
  readonly attempts: readonly LoggedAttempt[];
  readonly audit: readonly Pick<AuditEntry, "atMs" | "action">[];
}

/** Whoever settles a record doubts what became of its run. */
const settling: ReadonlySet<string> = new Set(["adopt", "release", "hold"]);

export function leftOpenOf({ record, attempts, audit }: Known): ReadonlySet<LoggedAttempt> {
  const runs = attempts.filter(({ outcome }) => outcome === "executed").toSorted((one, other) => one.atMs - other.atMs);
  const doubtedAtMs = [
    ...attempts.flatMap(({ outcome, atMs }) => (outcome === "outcome_unknown" ? [atMs] : [])),
    ...audit.flatMap(({ action, atMs }) => (settling.has(action) ? [atMs] : [])),
    ...(record.state === "unknown" ? [Number.POSITIVE_INFINITY] : []),
  ];
  return new Set(
    runs.filter((run, at) => {
      const nextMs = runs[at + 1]?.atMs;
      return doubtedAtMs.some((atMs) => atMs >= run.atMs && (nextMs === undefined || atMs < nextMs));
    }),
  );
}
