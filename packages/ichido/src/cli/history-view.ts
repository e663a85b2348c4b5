/** How what a record knows is told: requests, steps, suspected duplicates, the audit. */
import type {
  AuditEntry,
  AuditLogEntry,
  LoggedAttempt,
  Resource,
  SuspectedDuplicate,
} from "../core/contract/history.ts";
import type { Step } from "../core/contract/store.ts";
import { maskedKey, recordName, withoutKey } from "./masked-key.ts";
import type { Looking } from "./record-view.ts";
import type { Style } from "./style.ts";
import type { Column } from "./table.ts";
import { shownDuration, shownTime } from "./times.ts";

export const iso = (ms: number): string => new Date(ms).toISOString();

const at: Column<{ readonly atMs: number }> = { head: "AT", cell: ({ atMs }) => shownTime(atMs), whole: true };

/** Texts of callers and people may quote the key. */
function hidden(text: string | undefined, key: string, { reveal }: Looking): string | undefined {
  return text === undefined || reveal ? text : withoutKey(text, key);
}

export const styleOfOutcome: Readonly<Record<string, Style>> = {
  executed: "green",
  replayed: "cyan",
  replayed_after_wait: "cyan",
};

/** Member by member: what a store adds for itself is not told by accident. */
export function attemptJson(attempt: LoggedAttempt, looking: Looking): object {
  const { record, atMs, outcome, status, tookMs, fence, process, release, askedBy } = attempt;
  return {
    at: iso(atMs),
    id: recordName(record),
    key: looking.reveal ? record.key : maskedKey(record.key),
    operation: record.operation,
    outcome,
    status,
    tookMs,
    attempt: attempt.attempt,
    fence,
    process,
    release,
    askedBy: hidden(askedBy, record.key, looking),
  };
}

export function attemptColumns(looking: Looking): readonly Column<LoggedAttempt>[] {
  return [
    at,
    { head: "OUTCOME", cell: ({ outcome }) => outcome, style: ({ outcome }) => styleOfOutcome[outcome] ?? "yellow" },
    { head: "STATUS", cell: ({ status }) => status, align: "right" },
    { head: "TOOK", cell: ({ tookMs }) => shownDuration(tookMs), align: "right" },
    { head: "ATTEMPT", cell: ({ attempt }) => attempt, align: "right" },
    { head: "PROCESS", cell: ({ process }) => process, loose: true },
    { head: "RELEASE", cell: ({ release }) => release },
    { head: "ASKED BY", cell: ({ askedBy, record }) => hidden(askedBy, record.key, looking), loose: true },
  ];
}

export const resourceColumns: readonly Column<Resource>[] = [
  { head: "KIND", cell: ({ kind }) => kind },
  { head: "ID", cell: ({ id }) => id, whole: true },
];

/** Its result is a provider's answer, and hidden like a body. */
export function stepJson({ name, state, attempt, startedAtMs, lastStartedAtMs, finishedAtMs }: Step): object {
  return {
    name,
    state,
    attempt,
    startedAt: iso(startedAtMs),
    lastStartedAt: iso(lastStartedAtMs),
    finishedAt: finishedAtMs === undefined ? undefined : iso(finishedAtMs),
  };
}

export const stepColumns: readonly Column<Step>[] = [
  { head: "NAME", cell: ({ name }) => name },
  { head: "STATE", cell: ({ state }) => state, style: ({ state }) => (state === "started" ? "yellow" : "green") },
  { head: "ATTEMPT", cell: ({ attempt }) => attempt, align: "right" },
  { head: "STARTED", cell: ({ startedAtMs }) => shownTime(startedAtMs), whole: true },
  { head: "FINISHED", cell: ({ finishedAtMs }) => finishedAtMs && shownTime(finishedAtMs), whole: true },
];

export function suspectJson({ first, second, apartMs, atMs }: SuspectedDuplicate): object {
  return { at: iso(atMs), first: recordName(first), second: recordName(second), apartMs };
}

export const suspectColumns: readonly Column<SuspectedDuplicate>[] = [
  at,
  { head: "FIRST", cell: ({ first }) => recordName(first), whole: true },
  { head: "SECOND", cell: ({ second }) => recordName(second), whole: true },
  { head: "APART", cell: ({ apartMs }) => shownDuration(apartMs), align: "right" },
];

type Audited = AuditEntry & Pick<AuditLogEntry, "record">;

export function auditJson({ atMs, record, actor, action, reason, fence }: Audited, looking: Looking): object {
  return {
    at: iso(atMs),
    actor,
    action,
    fence,
    reason: record === undefined ? reason : hidden(reason, record.key, looking),
    record: record && recordName(record),
  };
}

export function auditColumns(looking: Looking): readonly Column<Audited>[] {
  return [
    at,
    { head: "ACTION", cell: ({ action }) => action },
    { head: "ACTOR", cell: ({ actor }) => actor },
    { head: "RECORD", cell: ({ record }) => record && recordName(record), whole: true },
    {
      head: "REASON",
      cell: ({ reason, record }) => (record === undefined ? reason : hidden(reason, record.key, looking)),
      loose: true,
    },
  ];
}
