/** Everything that happened to the records of a question, in its order. */
import type { LoggedAttempt } from "../core/contract/history.ts";
import { present } from "../core/contract/present.ts";
import { leftOpenOf } from "./left-open.ts";
import type { Evidence } from "./evidence.ts";

export interface TimelineEntry {
  readonly atMs: number;
  readonly kind: "attempt" | "step" | "takeover" | "effect" | "operator" | "event";
  /** Which of the verdict's keys it belongs to: `A`, `B`; empty where the question was an event. */
  readonly key: string;
  readonly text: string;
  /** For a drawing, and for other languages: the facts behind the text. */
  readonly facts?: TimelineFacts;
}

export interface TimelineFacts {
  readonly outcome?: LoggedAttempt["outcome"];
  readonly status?: number;
  /** How long it took from `atMs` on; absent where that is not known. */
  readonly tookMs?: number;
  /** The number of the run, from 1. */
  readonly run?: number;
  readonly step?: string;
  /** What the provider has: its id, amount and currency. */
  readonly effect?: string;
  readonly process?: string;
  /** The run left its outcome open. */
  readonly leftOpen?: true;
}

const words: Partial<Record<LoggedAttempt["outcome"], string>> = {
  executed: "ran",
  replayed: "answered from the record",
  replayed_after_wait: "waited, then answered from the record",
  in_progress: "refused: still running",
  key_reused: "refused: the key has other content",
  outcome_unknown: "refused: the outcome is unknown",
};

function attemptText(told: LoggedAttempt, isLeftOpen: boolean): string {
  const { outcome, status, attempt, tookMs, process, release, askedBy, count, atMs, lastAtMs = atMs } = told;
  const parts = [
    `${words[outcome] ?? outcome}${status === undefined ? "" : ` ${status}`}`,
    ...(isLeftOpen ? ["left its outcome open"] : []),
    ...(count === undefined ? [] : [`${count} times within ${lastAtMs - atMs} ms`]),
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

/** Runs before the last logged one that the log does not have: who writes nothing at its end has vanished. */
export function vanishedRuns(attempts: readonly LoggedAttempt[]): readonly number[] {
  const logged = attempts.flatMap(({ outcome, attempt }) => (outcome === "executed" ? (attempt ?? []) : []));
  const last = Math.max(1, ...logged);
  return Array.from({ length: last - 1 }, (_, before) => before + 1).filter((run) => !logged.includes(run));
}

export function timelineOf(key: string, evidence: Evidence): readonly TimelineEntry[] {
  const { record, attempts, steps, audit, probes } = evidence;
  const leftOpen = leftOpenOf(evidence);
  const entries: TimelineEntry[] = [];
  const add = (kind: TimelineEntry["kind"], atMs: number, text: string, facts?: TimelineFacts): void =>
    void entries.push({ kind, atMs, key, text, ...(facts && { facts }) });
  const vanished = vanishedRuns(attempts);
  if (attempts.length === 0) add("attempt", record.createdAtMs, "claimed for the first time");
  for (const attempt of attempts) {
    const isTakeover = attempt.outcome === "executed" && vanished.includes((attempt.attempt ?? 1) - 1);
    const { outcome, status, tookMs, attempt: run, process } = attempt;
    const isLeftOpen = leftOpen.has(attempt);
    const facts = present({ outcome, status, tookMs, run, process, leftOpen: isLeftOpen || undefined });
    add(isTakeover ? "takeover" : "attempt", attempt.atMs, attemptText(attempt, isLeftOpen), facts);
  }
  for (const { name, startedAtMs, lastStartedAtMs, finishedAtMs, attempt } of steps) {
    const facts = { step: name, run: attempt };
    const tookMs = finishedAtMs === undefined ? undefined : finishedAtMs - lastStartedAtMs;
    const last = present({ ...facts, tookMs });
    const isAgain = lastStartedAtMs !== startedAtMs;
    add("step", startedAtMs, `step ${name} started (attempt ${attempt})`, isAgain ? facts : last);
    if (isAgain) add("step", lastStartedAtMs, `step ${name} started again`, last);
    if (finishedAtMs !== undefined) add("step", finishedAtMs, `step ${name} finished`);
  }
  for (const { atMs, action, actor, reason } of audit) add("operator", atMs, `${action} by ${actor}: ${reason}`);
  for (const { step, effects } of probes) {
    for (const { id, amount, currency, at } of effects) {
      const price = amount === undefined ? "" : ` ${amount}${currency === undefined ? "" : ` ${currency}`}`;
      add("effect", timeOf(at) ?? record.updatedAtMs, `${step} did ${id}${price}`, { step, effect: `${id}${price}` });
    }
  }
  return entries.toSorted((one, other) => one.atMs - other.atMs);
}
