/** A record as the memory store keeps it, and what can be read off it at a given moment. Rows are never changed. */
import { Buffer } from "node:buffer";
import type { Fingerprint, Identity, OwnerToken, RecordState, StoredResponse } from "../../core/record.ts";
import type { AuditEntry, StoredRecord } from "../../core/store.ts";
import { leaseAbsurdUs, type Origin } from "../shared/claim-rules.ts";

export interface StepRow {
  readonly name: string;
  readonly attempt: number;
  readonly startedAtMs: number;
  readonly lastStartedAtMs: number;
  readonly finishedAtMs: number | undefined;
  readonly result: Uint8Array | undefined;
}

/**
 * Hashes are kept as text of one character a byte: a fifth of the memory of a byte array, compared by `===` and ordered
 * as bytes are, and no window on a buffer that somebody else may change.
 */
export type HashText = string;

export interface FingerprintRow {
  readonly version: number;
  readonly raw: HashText;
  readonly canonical: HashText;
  readonly former: HashText | undefined;
}

export interface Row extends Omit<Identity, "scopeHash"> {
  readonly scopeHash: HashText;
  readonly fingerprint: FingerprintRow;
  readonly labels: Readonly<Record<string, string>>;
  readonly state: RecordState;
  readonly owner: OwnerToken;
  /** How that owner came by the record. */
  readonly origin: Origin;
  readonly fence: number;
  readonly attempts: number;
  readonly doubtStays: boolean;
  /** When the lease ends, while `processing`; `undefined`: its owner or a person ended it. */
  readonly leaseEndMs: number | undefined;
  readonly interim: StoredResponse | undefined;
  readonly holdReason: string | undefined;
  readonly response: StoredResponse | undefined;
  readonly steps: readonly StepRow[];
  readonly audit: readonly AuditEntry[];
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly expiresAtMs: number;
}

/** A living owner. A lease further ahead than any lease can be was written by a clock that has gone back since. */
export function isLive(row: Row, nowMs: number): boolean {
  const leftMs = (row.leaseEndMs ?? nowMs) - nowMs;
  return row.state === "processing" && leftMs > 0 && leftMs * 1_000 <= leaseAbsurdUs;
}

/** Suspended with an interim answer, which only `open` may take, or put on hold, which nobody may. */
export function isSealed(row: Row): boolean {
  return row.state === "processing" && (row.interim !== undefined || row.holdReason !== undefined);
}

export function isUnknown(row: Row, nowMs: number): boolean {
  return row.state === "processing" && (!isLive(row, nowMs) || isSealed(row));
}

/** Something may have happened outside that only this record remembers. */
export function isNeeded(row: Row): boolean {
  if (row.state === "completed") return false;
  return row.steps.length > 0 || (row.state === "processing" && (row.doubtStays || isSealed(row)));
}

/** Past its retention and allowed to go. The caller knows whether the clock is trusted. */
export function isExpired(row: Row, nowMs: number): boolean {
  return nowMs >= row.expiresAtMs && !isNeeded(row) && !isLive(row, nowMs);
}

/** The earliest moment at which a sweep may find the row expired; never, while it is needed. */
export function dueMs(row: Row): number | undefined {
  if (isNeeded(row)) return undefined;
  return row.state === "processing" ? Math.max(row.expiresAtMs, row.leaseEndMs ?? 0) : row.expiresAtMs;
}

export function isSameRequest(stored: FingerprintRow, asked: FingerprintRow): boolean {
  return (
    stored.raw === asked.raw ||
    stored.canonical === asked.canonical ||
    stored.canonical === asked.former ||
    stored.former === asked.canonical
  );
}

export function textOf(hash: Uint8Array): HashText {
  return Buffer.from(hash.buffer, hash.byteOffset, hash.byteLength).toString("latin1");
}

export function bytesOf(hash: HashText): Uint8Array {
  return new Uint8Array(Buffer.from(hash, "latin1"));
}

export function fingerprintRowOf({ version, raw, canonical, former }: Fingerprint): FingerprintRow {
  const formerText = former === undefined ? undefined : textOf(former);
  return { version, raw: textOf(raw), canonical: textOf(canonical), former: formerText };
}

function fingerprintOf({ version, raw, canonical, former }: FingerprintRow): Fingerprint {
  const kept = former === undefined ? {} : { former: bytesOf(former) };
  return { version, raw: bytesOf(raw), canonical: bytesOf(canonical), ...kept };
}

export function toRecord(row: Row, nowMs: number, bodies: "with bodies" | "without bodies"): StoredRecord {
  const give = bodies === "with bodies" ? copyOut : withoutBody;
  const { key, tenant, principal, operation } = row;
  return {
    identity: { key, scopeHash: bytesOf(row.scopeHash), tenant, principal, operation },
    fingerprint: fingerprintOf(row.fingerprint),
    state: row.state,
    owner: row.owner,
    fence: row.fence,
    attempts: row.attempts,
    ...(row.state === "processing" ? { leaseLeftMs: (row.leaseEndMs ?? nowMs) - nowMs } : {}),
    stepsStarted: row.steps.length,
    ...(row.interim === undefined ? {} : { interim: give(row.interim) }),
    ...(row.holdReason === undefined ? {} : { holdReason: row.holdReason }),
    ...(row.response === undefined ? {} : { response: give(row.response) }),
    labels: row.labels,
    createdAtMs: row.createdAtMs,
    updatedAtMs: row.updatedAtMs,
    expiresAtMs: row.expiresAtMs,
  };
}

/*
 * Bytes cannot be frozen, so a body is copied once on its way in and once on its way out: neither the buffer that a
 * framework reuses nor the one that a replay hands to a compressor is the stored one. The copy on the way in also lets
 * go of a larger buffer behind a small window. Header lines are copied and frozen once, then shared.
 */
export function copyIn(response: StoredResponse): StoredResponse {
  const headers = response.headers.map(([name, value]) => Object.freeze([name, value] as const));
  return {
    kind: response.kind,
    status: response.status,
    headers: Object.freeze(headers),
    body: copyBytes(response.body),
  };
}

export function copyOut(response: StoredResponse): StoredResponse {
  return { ...response, body: copyBytes(response.body) };
}

function withoutBody(response: StoredResponse): StoredResponse {
  return { ...response, body: new Uint8Array(0) };
}

/** `Buffer.prototype.slice` would be another window on the same bytes. */
export function copyBytes(bytes: Uint8Array): Uint8Array {
  return Uint8Array.prototype.slice.call(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength));
}
