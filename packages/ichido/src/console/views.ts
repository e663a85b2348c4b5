/** Records and what they know, as the page gets them: keys masked, with handles to ask further by. */
import type { AuditLogEntry, LoggedAttempt, SuspectedDuplicate } from "../core/contract/history.ts";
import type { StoredRecord } from "../core/contract/store.ts";
import { leaseTold } from "../core/record-machine/seen.ts";
import { maskedKey } from "../operations/masked-key.ts";
import { attemptJson, auditJson, iso, recordJson, type Audited } from "../operations/told-record.ts";
import type { AttemptView, AuditView, RecordView, TwinView } from "./contract.ts";
import type { ConsoleParts } from "./parts.ts";

type Named = Parameters<ConsoleParts["link"]["handles"]["of"]>[0];

export function recordView(parts: ConsoleParts, record: StoredRecord): RecordView {
  const { keyMasked: _masked, leaseLeftMs: _left, ...told } = recordJson(record, parts.looking);
  return { handle: parts.link.handles.of(record.identity), ...told, lease: leaseTold(record) };
}

export function attemptView(parts: ConsoleParts, attempt: LoggedAttempt, isLeftOpen = false): AttemptView {
  const { observed } = attempt;
  const leftOpen = isLeftOpen || undefined;
  return { handle: parts.link.handles.of(attempt.record), ...attemptJson(attempt, parts.looking), observed, leftOpen };
}

export function nameView(parts: ConsoleParts, named: Named): { readonly handle: string; readonly id: string } {
  return { handle: parts.link.handles.of(named), id: parts.looking.nameOf(named) };
}

export function twinView(parts: ConsoleParts, { identity }: StoredRecord, twin: SuspectedDuplicate): TwinView {
  const { nameOf } = parts.looking;
  const isFirst = nameOf(twin.first) === nameOf(identity);
  const other = isFirst ? twin.second : twin.first;
  return {
    at: iso(twin.atMs),
    apartMs: twin.apartMs,
    isFirst,
    other: { ...nameView(parts, other), key: maskedKey(other.key) },
  };
}

export function auditView(parts: ConsoleParts, entry: Audited): AuditView {
  const { record }: Pick<AuditLogEntry, "record"> = entry;
  return { ...auditJson(entry, parts.looking), record: record && nameView(parts, record) };
}
