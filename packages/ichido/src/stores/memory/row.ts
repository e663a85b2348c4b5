/** A record as the memory store keeps it: the machine's fields and whose it is. Rows are never changed. */
import { Buffer } from "node:buffer";
import type { Fingerprint, Identity, StoredResponse } from "../../core/contract/record.ts";
import type { StoredRecord } from "../../core/contract/store.ts";
import type { HeldRecord, WholeRecord } from "../../core/record-machine/record.ts";
import { recordView } from "../../core/record-machine/view.ts";

/**
 * Hashes are kept as text of one character per byte. Such a text takes a fifth of the memory of a byte array, is
 * compared by `===`, sorts as the bytes do, and is no window on a buffer that other code may change.
 */
export type HashText = string;

export interface FingerprintRow {
  readonly version: number;
  readonly raw: HashText;
  readonly canonical: HashText;
  readonly former: HashText | undefined;
}

export interface Row extends WholeRecord, Omit<Identity, "scopeHash"> {
  readonly scopeHash: HashText;
  readonly fingerprint: FingerprintRow;
  readonly labels: Readonly<Record<string, string>>;
}

/** What a new record has beside the fields it is born with. */
export function rowOf(
  birth: HeldRecord,
  { key, scopeHash, tenant, principal, operation }: Identity,
  fingerprint: FingerprintRow,
  labels: Readonly<Record<string, string>> | undefined,
): Row {
  // Copied first and whole: what is spread after something else is copied member by member.
  return {
    ...birth,
    fingerprint,
    key,
    scopeHash: textOf(scopeHash),
    tenant,
    principal,
    operation,
    labels: Object.freeze({ ...labels }),
    steps: [],
    audit: [],
  };
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

export function toRecord(row: Row, nowUs: number, bodies: "with bodies" | "without bodies"): StoredRecord {
  const give = bodies === "with bodies" ? copyOut : withoutBody;
  const { key, tenant, principal, operation, labels } = row;
  const identity = { key, scopeHash: bytesOf(row.scopeHash), tenant, principal, operation };
  const given = { ...row, interim: row.interim && give(row.interim), response: row.response && give(row.response) };
  return recordView({ identity, fingerprint: fingerprintOf(row.fingerprint), labels }, given, nowUs);
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
