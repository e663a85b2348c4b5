/** What a record knows as rows of tables: requests, steps, suspected duplicates, the audit. */
import type { LoggedAttempt, Resource, SuspectedDuplicate } from "../core/contract/history.ts";
import type { Step } from "../core/contract/store.ts";
import { shownText, type Audited, type Looking } from "../operations/told-record.ts";
import type { Style } from "./style.ts";
import type { Column } from "./table.ts";
import { shownDuration, shownTime } from "./times.ts";

const at: Column<{ readonly atMs: number }> = { head: "AT", cell: ({ atMs }) => shownTime(atMs), whole: true };

export const styleOfOutcome: Readonly<Record<string, Style>> = {
  executed: "green",
  replayed: "cyan",
  replayed_after_wait: "cyan",
};

export function attemptColumns(looking: Looking): readonly Column<LoggedAttempt>[] {
  return [
    at,
    { head: "OUTCOME", cell: ({ outcome }) => outcome, style: ({ outcome }) => styleOfOutcome[outcome] ?? "yellow" },
    { head: "TIMES", cell: ({ count }) => count, align: "right" },
    { head: "STATUS", cell: ({ status }) => status, align: "right" },
    { head: "TOOK", cell: ({ tookMs }) => shownDuration(tookMs), align: "right" },
    { head: "ATTEMPT", cell: ({ attempt }) => attempt, align: "right" },
    { head: "PROCESS", cell: ({ process }) => process, loose: true },
    { head: "RELEASE", cell: ({ release }) => release },
    { head: "ASKED BY", cell: ({ askedBy, record }) => shownText(askedBy, record.key, looking), loose: true },
  ];
}

export const resourceColumns: readonly Column<Resource>[] = [
  { head: "KIND", cell: ({ kind }) => kind },
  { head: "ID", cell: ({ id }) => id, whole: true },
];

export const stepColumns: readonly Column<Step>[] = [
  { head: "NAME", cell: ({ name }) => name },
  { head: "STATE", cell: ({ state }) => state, style: ({ state }) => (state === "started" ? "yellow" : "green") },
  { head: "ATTEMPT", cell: ({ attempt }) => attempt, align: "right" },
  { head: "STARTED", cell: ({ startedAtMs }) => shownTime(startedAtMs), whole: true },
  { head: "FINISHED", cell: ({ finishedAtMs }) => finishedAtMs && shownTime(finishedAtMs), whole: true },
];

export function suspectColumns({ nameOf }: Looking): readonly Column<SuspectedDuplicate>[] {
  return [
    at,
    { head: "FIRST", cell: ({ first }) => nameOf(first), whole: true },
    { head: "SECOND", cell: ({ second }) => nameOf(second), whole: true },
    { head: "APART", cell: ({ apartMs }) => shownDuration(apartMs), align: "right" },
  ];
}

export function auditColumns(looking: Looking): readonly Column<Audited>[] {
  return [
    at,
    { head: "ACTION", cell: ({ action }) => action },
    { head: "ACTOR", cell: ({ actor }) => actor },
    { head: "RECORD", cell: ({ record }) => record && looking.nameOf(record), whole: true },
    {
      head: "REASON",
      cell: ({ reason, record }) => (record === undefined ? reason : shownText(reason, record.key, looking)),
      loose: true,
    },
  ];
}
