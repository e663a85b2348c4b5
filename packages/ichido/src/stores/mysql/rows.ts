/** Rows of the server → values of the contract. Text comes back as UTF-8 bytes. */
import type { Identity, Key, OwnerToken, RecordState, StoredResponse } from "../../core/record.ts";
import type { Step, StoredRecord } from "../../core/store.ts";
import type { HeldRecord, Origin, TickRow } from "../shared/claim-rules.ts";
import { leaseAbsurdUs, originOf } from "../shared/claim-rules.ts";
import { decodeHeaders } from "../shared/header-lines.ts";
import { decodeLabels } from "../shared/labels.ts";
import type { Holding } from "../shared/landed.ts";
import { integerOf } from "./client.ts";
import type { Row } from "./client.ts";
import { leaseAheadUs, tickPatienceUs } from "./dialect.ts";
import { binaryValue } from "./values.ts";
import type { ClaimValues } from "./values.ts";

export function stringOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (value instanceof Uint8Array)
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("utf8");
  throw new TypeError(`expected text from the server, got ${typeof value}`);
}

const optional = (value: unknown): string | undefined =>
  value === null || value === undefined ? undefined : stringOf(value);

/** A plain array of its own: the driver's buffer is a window on a packet that holds much else. */
export function binaryOf(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return new Uint8Array(value);
  throw new TypeError(`expected bytes from the server, got ${typeof value}`);
}

/** For a column that was not asked for, and for MariaDB's mode EMPTY_STRING_IS_NULL, which keeps no bytes as NULL. */
const empty = new Uint8Array(0);

export const toMs = (us: number): number => Math.floor(us / 1_000);

/** A record as `look` found it. `stepsStarted` is zero or not; how many there are is counted when it matters. */
export interface Seen extends HeldRecord {
  readonly origin: Origin;
  readonly fence: number;
  readonly attempts: number;
  readonly createdUs: number;
  readonly nowUs: number;
  readonly answer: StoredResponse | undefined;
  readonly holdReason: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
}

export function seenOf(row: Row): Seen {
  const nowUs = integerOf(row["now_us"]);
  const leaseUs = integerOf(row["lease_us"]);
  const answer = responseOf(row);
  const holdReason = optional(row["hold_reason"]);
  const state = stateOf(row);
  return {
    state,
    owner: stringOf(row["owner"]),
    raw: binaryOf(row["fingerprint_raw"]),
    canonical: binaryOf(row["fingerprint_canonical"]),
    former: row["fingerprint_former"] === null ? undefined : binaryOf(row["fingerprint_former"]),
    // The rules take a lease far ahead for a clock that went back; here it must lie further ahead than a lock wait, too.
    leaseUs: leaseUs <= nowUs + leaseAheadUs ? Math.min(leaseUs, nowUs + leaseAbsurdUs) : leaseUs,
    expiresUs: integerOf(row["expires_us"]),
    stepsStarted: integerOf(row["step_starts"]),
    interim: state === "processing" && answer !== undefined,
    held: holdReason !== undefined,
    doubtStays: integerOf(row["doubt_stays"]) !== 0,
    origin: originOf(stringOf(row["origin"])),
    fence: integerOf(row["fence"]),
    attempts: integerOf(row["attempts"]),
    createdUs: integerOf(row["created_us"]),
    nowUs,
    answer,
    holdReason,
    labels: decodeLabels(optional(row["labels"]) ?? null),
  };
}

/** The tick row with the tolerance of `tick.sql`: a read that began a moment before the last tick is not out of order. */
export function tickOf(row: Row): TickRow | undefined {
  if (row["last_us"] === null || row["last_us"] === undefined) return undefined;
  const nowUs = integerOf(row["now_us"]);
  const lastUs = integerOf(row["last_us"]);
  return {
    lastUs: lastUs - nowUs <= tickPatienceUs ? Math.min(lastUs, nowUs) : lastUs,
    intervalUs: integerOf(row["interval_us"]),
    steadySinceUs: integerOf(row["steady_since_us"]),
  };
}

function stateOf(row: Row): RecordState {
  return stringOf(row["state"]) as RecordState;
}

/** A row of `landed`. */
export function holdingOf(row: Row): Holding {
  return { state: stateOf(row), owner: stringOf(row["owner"]) as OwnerToken, fence: integerOf(row["fence"]) };
}

function responseOf(row: Row): StoredResponse | undefined {
  if (row["response_status"] === null) return undefined;
  return {
    kind: stringOf(row["response_kind"]) === "tombstone" ? "tombstone" : "full",
    status: integerOf(row["response_status"]),
    headers: decodeHeaders(stringOf(row["response_headers"])),
    body: binaryOf(row["response_body"] ?? empty),
  };
}

export function recordOf(row: Row): StoredRecord {
  const state = stateOf(row);
  const response = responseOf(row);
  const holdReason = optional(row["hold_reason"]);
  const leaseUs = integerOf(row["lease_us"]);
  const nowUs = integerOf(row["now_us"]);
  const leaseLeftMs = leaseUs === 0 || leaseUs > nowUs + leaseAheadUs ? 0 : Math.ceil((leaseUs - nowUs) / 1_000);
  return {
    identity: identityOfRow(row),
    fingerprint: {
      version: integerOf(row["fingerprint_version"]),
      raw: binaryOf(row["fingerprint_raw"]),
      canonical: binaryOf(row["fingerprint_canonical"]),
      ...(row["fingerprint_former"] === null ? {} : { former: binaryOf(row["fingerprint_former"]) }),
    },
    state,
    owner: stringOf(row["owner"]) as OwnerToken,
    fence: integerOf(row["fence"]),
    attempts: integerOf(row["attempts"]),
    ...(state === "processing" ? { leaseLeftMs } : {}),
    stepsStarted: integerOf(row["steps_started"]),
    ...(state === "processing" && response !== undefined ? { interim: response } : {}),
    ...(holdReason === undefined ? {} : { holdReason }),
    ...(state === "completed" && response !== undefined ? { response } : {}),
    labels: decodeLabels(optional(row["labels"]) ?? null),
    createdAtMs: toMs(integerOf(row["created_us"])),
    updatedAtMs: toMs(integerOf(row["updated_us"])),
    expiresAtMs: toMs(integerOf(row["expires_us"])),
  };
}

function identityOfRow(row: Row): Identity {
  return {
    key: stringOf(row["key"]) as Key,
    scopeHash: binaryOf(row["scope_hash"]),
    tenant: optional(row["tenant"]),
    principal: optional(row["principal"]),
    operation: stringOf(row["operation"]),
  };
}

export function claimOf(row: Row): ClaimValues {
  const bytes = (name: string): Buffer => binaryValue(binaryOf(row[name]));
  return { key: bytes("key"), scopeHash: bytes("scope_hash"), owner: bytes("owner"), fence: integerOf(row["fence"]) };
}

export function labelledOf(row: Row): {
  readonly identity: Pick<Identity, "key" | "scopeHash">;
  readonly labels: Readonly<Record<string, string>>;
} {
  const identity = { key: stringOf(row["key"]) as Key, scopeHash: binaryOf(row["scope_hash"]) };
  return { identity, labels: decodeLabels(optional(row["labels"]) ?? null) };
}

export function stepOf(row: Row): Step {
  const startedUs = integerOf(row["started_us"]);
  const lastStartedUs = integerOf(row["last_started_us"]);
  const finished = row["finished_us"] !== null;
  return {
    name: stringOf(row["name"]),
    state: finished ? "finished" : "started",
    ...(finished
      ? { result: binaryOf(row["result"] ?? empty), finishedAtMs: toMs(integerOf(row["finished_us"])) }
      : {}),
    attempt: integerOf(row["attempt"]),
    startedAtMs: toMs(startedUs),
    lastStartedAtMs: toMs(lastStartedUs),
    ageMs: Math.max(0, toMs(integerOf(row["now_us"]) - lastStartedUs)),
    firstAgeMs: Math.max(0, toMs(integerOf(row["now_us"]) - startedUs)),
  };
}
