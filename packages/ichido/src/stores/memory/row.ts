/** A record as the memory store keeps it: the machine's fields and whose it is. Rows are never changed. */
import { Buffer } from "node:buffer";
import type { Fingerprint, Identity, StoredResponse } from "../../core/contract/record.ts";
import type { StoredRecord } from "../../core/contract/store.ts";
import type { HeldRecord, Prints, WholeRecord } from "../../core/record-machine/record.ts";
import { recordView } from "../../core/record-machine/view.ts";
import { scopeWordOf } from "../../core/request/scope.ts";

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
  readonly interim: KeptResponse | undefined;
  readonly response: KeptResponse | undefined;
  readonly scopeHash: HashText;
  readonly fingerprint: FingerprintRow;
  readonly labels: Readonly<Record<string, string>>;
}

// Shared by all rows that have none: transitions replace them and never change them.
export const noLabels: Row["labels"] = Object.freeze({});
export const none: readonly never[] = Object.freeze([]);

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
    scopeHash: scopeWordOf(scopeHash),
    tenant,
    principal,
    operation,
    labels: labels === undefined ? noLabels : Object.freeze({ ...labels }),
    steps: none,
    audit: none,
    resources: none,
    interim: undefined,
    response: undefined,
  };
}

export function textOf(hash: Uint8Array): HashText {
  return (Buffer.isBuffer(hash) ? hash : Buffer.from(hash.buffer, hash.byteOffset, hash.byteLength)).toString("latin1");
}

export function bytesOf(hash: HashText): Uint8Array {
  return new Uint8Array(Buffer.from(hash, "latin1"));
}

/** What is asked, to be compared with a row: its meaning is read only where its bytes are others. */
export class AskedPrints implements Prints {
  readonly raw: HashText;
  readonly #of: Fingerprint;

  constructor(of: Fingerprint) {
    this.raw = textOf(of.raw);
    this.#of = of;
  }

  get canonical(): HashText {
    return textOf(this.#of.canonical);
  }

  get former(): HashText | undefined {
    return this.#of.former === undefined ? undefined : textOf(this.#of.former);
  }

  toRow(): FingerprintRow {
    const { raw, canonical, former } = this;
    return { version: this.#of.version, raw, canonical, former };
  }
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

/**
 * An answer as it is kept. Bytes cannot be frozen, and a text can: neither the buffer that a framework reuses nor the one
 * that a replay hands to a compressor is the stored one. A text is also cheaper to keep than an array of bytes. Header
 * lines are copied and frozen once, then shared.
 */
export class KeptResponse implements StoredResponse {
  readonly kind: StoredResponse["kind"];
  readonly status: number;
  readonly headers: StoredResponse["headers"];
  /** One character a byte. */
  readonly text: string;

  constructor(kind: StoredResponse["kind"], status: number, headers: StoredResponse["headers"], text: string) {
    this.kind = kind;
    this.status = status;
    this.headers = headers;
    this.text = text;
  }

  static of({ kind, status, headers, body }: StoredResponse): KeptResponse {
    const lines = Object.freeze(headers.map(([name, value]) => Object.freeze([name, value] as const)));
    return new KeptResponse(kind, status, lines, textOf(body));
  }

  get bytes(): number {
    return this.text.length;
  }

  /** A copy of its own for each who asks. */
  get body(): Uint8Array {
    const { buffer, byteOffset, length } = Buffer.from(this.text, "latin1");
    return new Uint8Array(buffer, byteOffset, length);
  }
}

export function copyOut({ kind, status, headers, body }: StoredResponse): StoredResponse {
  return { kind, status, headers, body };
}

function withoutBody({ kind, status, headers }: StoredResponse): StoredResponse {
  return { kind, status, headers, body: new Uint8Array(0) };
}

/** `Buffer.prototype.slice` would be another window on the same bytes. */
export function copyBytes(bytes: Uint8Array): Uint8Array {
  return Uint8Array.prototype.slice.call(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength));
}
