/**
 * A record and what it knows as JSON, for programs and for the console: member by member, so that what a store adds for
 * itself is not told by accident. Keys are masked, and texts that may quote one are too, unless they are to be revealed.
 */
import type { EventMessage } from "../brokers/message.ts";
import type {
  AuditEntry,
  AuditLogEntry,
  LoggedAttempt,
  Resource,
  SuspectedDuplicate,
} from "../core/contract/history.ts";
import type { Step, StoredRecord } from "../core/contract/store.ts";
import { maskedKey, withoutKey, type NameOf } from "./masked-key.ts";

export interface Looking {
  /** Keys in clear. */
  readonly reveal: boolean;
  /** What records are called. */
  readonly nameOf: NameOf;
}

export const iso = (ms: number): string => new Date(ms).toISOString();
const isoIfAny = (ms: number | undefined): string | undefined => (ms === undefined ? undefined : iso(ms));

export function shownKey(key: string, { reveal }: Pick<Looking, "reveal">): string {
  return reveal ? key : maskedKey(key);
}

/** Texts of callers and people may quote the key. */
export function shownText<Text extends string | undefined>(
  text: Text,
  key: string,
  { reveal }: Pick<Looking, "reveal">,
): Text | string {
  return text === undefined || reveal ? text : withoutKey(text, key);
}

/** A caller may name a label or a resource by the key itself. */
export function shownLabels(
  { identity, labels }: Pick<StoredRecord, "identity" | "labels">,
  looking: Pick<Looking, "reveal">,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(labels).map(([name, value]) => [name, shownText(value, identity.key, looking)]),
  );
}

export function shownResource({ kind, id }: Resource, key: string, looking: Pick<Looking, "reveal">): Resource {
  return { kind, id: shownText(id, key, looking) };
}

export function recordJson(record: StoredRecord, looking: Looking) {
  const { identity, state, fence, attempts, holdReason, response, interim } = record;
  return {
    id: looking.nameOf(identity),
    key: shownKey(identity.key, looking),
    keyMasked: !looking.reveal,
    operation: identity.operation,
    tenant: identity.tenant,
    principal: identity.principal,
    state,
    fence,
    attempts,
    stepsStarted: record.stepsStarted,
    leaseLeftMs: record.leaseLeftMs,
    holdReason: shownText(holdReason, identity.key, looking),
    status: response?.status,
    interimStatus: interim?.status,
    answer: response?.kind,
    labels: shownLabels(record, looking),
    createdAt: iso(record.createdAtMs),
    updatedAt: iso(record.updatedAtMs),
    expiresAt: iso(record.expiresAtMs),
  };
}

export function attemptJson(attempt: LoggedAttempt, looking: Looking) {
  const { record, atMs, outcome, status, tookMs, fence, process, release, askedBy, count, lastAtMs } = attempt;
  return {
    at: iso(atMs),
    id: looking.nameOf(record),
    key: shownKey(record.key, looking),
    operation: record.operation,
    outcome,
    status,
    tookMs,
    attempt: attempt.attempt,
    fence,
    process,
    release,
    askedBy: shownText(askedBy, record.key, looking),
    count,
    lastAt: lastAtMs === undefined ? undefined : iso(lastAtMs),
  };
}

/** Its result is a provider's answer, and hidden like a body. */
export function stepJson({ name, state, attempt, startedAtMs, lastStartedAtMs, finishedAtMs }: Step) {
  return {
    name,
    state,
    attempt,
    startedAt: iso(startedAtMs),
    lastStartedAt: iso(lastStartedAtMs),
    finishedAt: isoIfAny(finishedAtMs),
  };
}

export function suspectJson({ first, second, apartMs, atMs }: SuspectedDuplicate, { nameOf }: Looking) {
  return { at: iso(atMs), first: nameOf(first), second: nameOf(second), apartMs };
}

export type Audited = AuditEntry & Pick<AuditLogEntry, "record">;

export function auditJson({ atMs, record, actor, action, reason, fence }: Audited, looking: Looking) {
  return {
    at: iso(atMs),
    actor,
    action,
    fence,
    reason: record === undefined ? reason : shownText(reason, record.key, looking),
    record: record && looking.nameOf(record),
  };
}

/** Reasons whose text is ichido's own: nothing of a message is in it. */
const ownTexts: ReadonlySet<string> = new Set(["conflict", "too-old", "unknown"]);

/** What a handler or a broker says may quote the message: without `reveal` the error's type stands for it. */
export function shownError(
  { reason, error }: { readonly reason: string; readonly error: string | undefined },
  { reveal }: Pick<Looking, "reveal">,
): string | undefined {
  if (error === undefined || reveal || ownTexts.has(reason)) return error;
  const [, type] = /^([A-Za-z]{0,60}(?:Error|Exception|Exceeded))(?::|\n|$)/.exec(error) ?? [];
  return type ?? "error";
}

/** Bytes of strangers, as a text where they are one. */
export function textOfBytes(bytes: Uint8Array): string {
  const text = Buffer.from(bytes).toString("utf8");
  return Buffer.from(text, "utf8").equals(bytes) ? text : `base64:${Buffer.from(bytes).toString("base64")}`;
}

/** Everything but its payload and headers, which are added where they may be shown. */
export function messageJson({ payload, headers, ...message }: EventMessage, reveal: boolean) {
  return { ...message, payloadBytes: payload.length, ...(reveal ? { headers, payload: textOfBytes(payload) } : {}) };
}
