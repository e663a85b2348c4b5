/**
 * The audit from new to old. Stores walk it from old to new: a page is looked for in a short time before its end, then in
 * longer ones, so that what somebody did a minute ago is on the first page, however long the audit is.
 */
import type { AuditLogEntry } from "../core/contract/history.ts";
import type { Store } from "../core/contract/store.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const spansMs = [hourMs, dayMs, 7 * dayMs, 30 * dayMs, 365 * dayMs, 3_650 * dayMs] as const;
const pageMax = 1_000;
/** Of one span. */
const readMax = 10_000;
/** Several writers: the order of the audit may differ from that of its times by as much. */
const disorderMs = 60_000;

/** Where a page ended: this moment, of which so many were shown. */
export interface AuditPlace {
  readonly beforeMs: number;
  readonly shown: number;
}

export interface NewestAudit {
  readonly entries: readonly AuditLogEntry[];
  /** Absent: there is nothing older. */
  readonly next?: AuditPlace;
}

interface Span {
  readonly entries: readonly AuditLogEntry[];
  readonly isCut: boolean;
}

/** From new to old. */
async function readSpan(store: Pick<Store, "auditLog">, fromAgoMs: number, place: AuditPlace): Promise<Span> {
  const entries: AuditLogEntry[] = [];
  let cursor: string | undefined;
  let isAtEnd = false;
  for (let read = 0; read < readMax && !isAtEnd; read += pageMax) {
    const page = await store.auditLog({ limit: pageMax, ...(cursor === undefined ? { fromAgoMs } : { cursor }) });
    entries.push(...page.entries.filter(({ atMs }) => atMs <= place.beforeMs));
    isAtEnd = page.entries.length < pageMax || (page.entries.at(-1)?.atMs ?? 0) > place.beforeMs + disorderMs;
    ({ cursor } = page);
  }
  const newest = entries.toSorted((one, other) => one.atMs - other.atMs).toReversed();
  return { entries: newest.slice(place.shown), isCut: !isAtEnd };
}

function nextPlace(entries: readonly AuditLogEntry[], place: AuditPlace): AuditPlace {
  const beforeMs = entries.at(-1)?.atMs ?? place.beforeMs;
  const shown = entries.filter(({ atMs }) => atMs === beforeMs).length;
  return { beforeMs, shown: beforeMs === place.beforeMs ? place.shown + shown : shown };
}

export async function newestAudit(
  store: Pick<Store, "auditLog">,
  { nowMs, sinceMs, place, limit }: { nowMs: number; sinceMs: number; place: AuditPlace; limit: number },
): Promise<NewestAudit> {
  let entries: readonly AuditLogEntry[] = [];
  for (const spanMs of spansMs) {
    const fromMs = Math.max(sinceMs, Math.min(nowMs, place.beforeMs) - spanMs);
    const span = await readSpan(store, nowMs - fromMs, place);
    // More than can be read at once: what the shorter span had is the end of it, and the next page goes on from there.
    if (span.isCut && entries.length > 0) return { entries, next: nextPlace(entries, place) };
    entries = span.entries.slice(0, limit);
    if (span.entries.length > limit || span.isCut) return { entries, next: nextPlace(entries, place) };
    if (fromMs === sinceMs) break;
  }
  return { entries };
}
