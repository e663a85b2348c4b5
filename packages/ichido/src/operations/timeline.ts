/** Everything that happened to the records of a question, in its order. */
import type { LoggedAttempt } from "../core/contract/history.ts";
import type { Evidence } from "./evidence.ts";

export interface TimelineEntry {
  readonly atMs: number;
  readonly kind: "attempt" | "step" | "takeover" | "effect" | "operator" | "event";
  /** Which of the verdict's keys it belongs to: `A`, `B`. */
  readonly key: string;
  readonly text: string;
}

const words: Partial<Record<LoggedAttempt["outcome"], string>> = {
  executed: "ran",
  replayed: "answered from the record",
  replayed_after_wait: "waited, then answered from the record",
  in_progress: "refused: still running",
  key_reused: "refused: the key has other content",
  outcome_unknown: "refused: the outcome is unknown",
};

function attemptText({ outcome, status, attempt, tookMs, process, release, askedBy }: LoggedAttempt): string {
  const parts = [
    `${words[outcome] ?? outcome}${status === undefined ? "" : ` ${status}`}`,
    ...(attempt === undefined ? [] : [`attempt ${attempt}`]),
    `${Math.round(tookMs)} ms`,
    `in ${process}${release === undefined ? "" : ` (${release})`}`,
    ...(askedBy === undefined ? [] : [`for ${askedBy}`]),
  ];
  return parts.join(", ");
}

export function timeOf(at: number | string | undefined): number | undefined {
  const ms = typeof at === "number" ? at : at === undefined ? Number.NaN : Date.parse(at);
  return Number.isFinite(ms) ? ms : undefined;
}

export function timelineOf(
  key: string,
  { record, attempts, steps, audit, probes }: Evidence,
): readonly TimelineEntry[] {
  const entries: TimelineEntry[] = [];
  const add = (kind: TimelineEntry["kind"], atMs: number, text: string): void =>
    void entries.push({ kind, atMs, key, text });
  if (attempts.length === 0) add("attempt", record.createdAtMs, "claimed for the first time");
  for (const attempt of attempts) {
    const isTakeover = attempt.outcome === "executed" && (attempt.attempt ?? 1) > 1;
    add(isTakeover ? "takeover" : "attempt", attempt.atMs, attemptText(attempt));
  }
  for (const { name, startedAtMs, lastStartedAtMs, finishedAtMs, attempt } of steps) {
    add("step", startedAtMs, `step ${name} started (attempt ${attempt})`);
    if (lastStartedAtMs !== startedAtMs) add("step", lastStartedAtMs, `step ${name} started again`);
    if (finishedAtMs !== undefined) add("step", finishedAtMs, `step ${name} finished`);
  }
  for (const { atMs, action, actor, reason } of audit) add("operator", atMs, `${action} by ${actor}: ${reason}`);
  for (const { step, effects } of probes) {
    for (const { id, amount, currency, at } of effects) {
      const price = amount === undefined ? "" : ` ${amount}${currency === undefined ? "" : ` ${currency}`}`;
      add("effect", timeOf(at) ?? record.updatedAtMs, `${step} did ${id}${price}`);
    }
  }
  return entries.toSorted((one, other) => one.atMs - other.atMs);
}
