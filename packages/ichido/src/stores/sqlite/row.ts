/** Columns to values and back. A column of the wrong type means a damaged file or a foreign schema, and throws. */
import type { Identity, Key, OwnerToken, StoredResponse } from "../../core/contract/record.ts";
import type { ClaimRequest, Step, StoredRecord } from "../../core/contract/store.ts";
import { originOf, type HeldRecord } from "../../core/record-machine/record.ts";
import { recordView, stepView } from "../../core/record-machine/view.ts";
import { decodeHeaders, decodeLabels, encodeHeaders, kindOf, stateOf } from "../encoding.ts";
import type { Row, SqliteValue } from "./database.ts";

export function integer(row: Row, column: string): number {
  const value = row[column];
  return Number.isSafeInteger(value) ? (value as number) : damaged(column);
}

/** A row from the caller's connection, which may be set to answer with bigints; every integer of ours fits a number. */
export function plainRow(row: Row | undefined): Row | undefined {
  if (row === undefined) return undefined;
  const plain = Object.entries(row).map(([name, value]) => [name, typeof value === "bigint" ? Number(value) : value]);
  return Object.fromEntries(plain) as Row;
}

export function text(row: Row, column: string): string {
  const value = row[column];
  return typeof value === "string" ? value : damaged(column);
}

export function textOrNull(row: Row, column: string): string | null {
  return row[column] === null ? null : text(row, column);
}

/** Without a copy. A driver's own Buffer becomes the plain array that the contract names. */
export function bytes(row: Row, column: string): Uint8Array {
  const value = row[column];
  if (!(value instanceof Uint8Array)) return damaged(column);
  return value.constructor === Uint8Array ? value : new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
}

export function bytesOrNull(row: Row, column: string): Uint8Array | null {
  return row[column] === null ? null : bytes(row, column);
}

function damaged(column: string): never {
  throw new TypeError(`column ${column} does not hold what ichido wrote`);
}

/** `body` is absent in listings, and null where a driver stores no bytes as nothing. */
export function responseOf(row: Row, prefix: "response" | "interim"): StoredResponse {
  const body = row[`${prefix}_body`];
  return {
    kind: kindOf(row[`${prefix}_kind`]),
    status: integer(row, `${prefix}_status`),
    headers: decodeHeaders(text(row, `${prefix}_headers`)),
    body: body === null || body === undefined ? new Uint8Array() : bytes(row, `${prefix}_body`),
  };
}

/** Kind, status, headers, body. */
export function responseValues(response: StoredResponse): [string, number, string, Uint8Array] {
  return [response.kind, response.status, encodeHeaders(response.headers), response.body];
}

export function identityValues(identity: Pick<Identity, "key" | "scopeHash">): [string, Uint8Array] {
  return [identity.key, identity.scopeHash];
}

/** What a record is born with: key, scope hash, tenant, principal, operation, the fingerprint's four columns, owner. */
export function birthValues({ identity, fingerprint, owner }: ClaimRequest): SqliteValue[] {
  return [
    identity.key,
    identity.scopeHash,
    orNull(identity.tenant),
    orNull(identity.principal),
    identity.operation,
    fingerprint.version,
    fingerprint.raw,
    fingerprint.canonical,
    orNull(fingerprint.former),
    owner,
  ];
}

export function orNull(value: SqliteValue | undefined): SqliteValue {
  return value ?? null;
}

export interface Held extends HeldRecord {
  readonly fingerprint: { readonly raw: Uint8Array; readonly canonical: Uint8Array; readonly former?: Uint8Array };
}

/** A row of `look`, as the rules of a record take it. */
export function heldOf(row: Row): Held {
  return {
    ...shownOf(row),
    doubtStays: integer(row, "doubt_stays") !== 0,
    fingerprint: printsOf(row),
  };
}

/** What `look`, `find` and listings read alike. */
function shownOf(row: Row) {
  const state = stateOf(row["state"]);
  return {
    state,
    owner: text(row, "owner") as OwnerToken,
    origin: originOf(text(row, "origin")),
    fence: integer(row, "fence"),
    attempts: integer(row, "attempts"),
    leaseUs: integer(row, "lease_us"),
    interim: row["interim_status"] === null ? undefined : responseOf(row, "interim"),
    holdReason: textOrNull(row, "hold_reason") ?? undefined,
    response: state === "completed" ? responseOf(row, "response") : undefined,
    stepsStarted: integer(row, "steps_count"),
    createdUs: integer(row, "created_us"),
    updatedUs: integer(row, "updated_us"),
    expiresUs: integer(row, "expires_us"),
  };
}

function printsOf(row: Row): Held["fingerprint"] {
  const former = bytesOrNull(row, "fingerprint_former");
  const prints = { raw: bytes(row, "fingerprint_raw"), canonical: bytes(row, "fingerprint_canonical") };
  return former === null ? prints : { ...prints, former };
}

export function recordOf(row: Row, nowUs: number): StoredRecord {
  const identity = {
    key: text(row, "key") as Key,
    scopeHash: bytes(row, "scope_hash"),
    tenant: textOrNull(row, "tenant") ?? undefined,
    principal: textOrNull(row, "principal") ?? undefined,
    operation: text(row, "operation"),
  };
  const fingerprint = { version: integer(row, "fingerprint_version"), ...printsOf(row) };
  return recordView({ identity, fingerprint, labels: decodeLabels(textOrNull(row, "labels")) }, shownOf(row), nowUs);
}

export function stepOf(row: Row, nowUs: number): Step {
  const finished = row["state"] === "finished";
  const step = {
    name: text(row, "name"),
    attempt: integer(row, "attempt"),
    startedUs: integer(row, "started_us"),
    lastStartedUs: integer(row, "last_started_us"),
    finishedUs: finished ? integer(row, "finished_us") : undefined,
    result: bytesOrNull(row, "result") ?? undefined,
  };
  return stepView(step, nowUs);
}
