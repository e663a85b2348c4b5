/** Rows of the server → values of the contract. Text comes back as UTF-8 bytes. */
import type { Identity, Key, OwnerToken, StoredResponse } from "../../core/contract/record.ts";
import type { Step, StoredRecord } from "../../core/contract/store.ts";
import { lockWaitUs, tickPatienceUs } from "../../core/record-machine/bounds.ts";
import type { Holding } from "../../core/record-machine/owned.ts";
import { originOf, type HeldRecord } from "../../core/record-machine/record.ts";
import { tickSeen, type TickRow } from "../../core/record-machine/ticks.ts";
import { answersOf, leaseSeen, recordView, stepView } from "../../core/record-machine/view.ts";
import { decodeHeaders, decodeLabels, kindOf, stateOf } from "../encoding.ts";
import { integerOf, type Row } from "./client.ts";
import { bufferOf } from "../../sql/statement.ts";
import type { ClaimValues } from "./values.ts";

export function stringOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (value instanceof Uint8Array)
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("utf8");
  throw new TypeError(`expected text from the server, got ${typeof value}`);
}

export const optional = (value: unknown): string | undefined =>
  value === null || value === undefined ? undefined : stringOf(value);

/** A plain array of its own: the driver's buffer is a window on a packet that holds much else. */
export function binaryOf(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return new Uint8Array(value);
  throw new TypeError(`expected bytes from the server, got ${typeof value}`);
}

/** For a column that was not asked for, and for MariaDB's mode EMPTY_STRING_IS_NULL, which keeps no bytes as NULL. */
const empty = new Uint8Array(0);

/** A record as `look` found it. `stepsStarted` is zero or not; how many there are is counted when it matters. */
export interface Seen extends HeldRecord {
  readonly fingerprint: { readonly raw: Uint8Array; readonly canonical: Uint8Array; readonly former?: Uint8Array };
  readonly nowUs: number;
  readonly labels: Readonly<Record<string, string>>;
}

export function seenOf(row: Row): Seen {
  return {
    ...shownOf(row),
    fingerprint: printsOf(row),
    stepsStarted: integerOf(row["step_starts"]),
    doubtStays: integerOf(row["doubt_stays"]) !== 0,
    nowUs: integerOf(row["now_us"]),
    labels: decodeLabels(optional(row["labels"]) ?? null),
  };
}

/** What `look`, `find` and listings read alike. */
function shownOf(row: Row) {
  const answer = responseOf(row);
  const state = stateOf(stringOf(row["state"]));
  return {
    state,
    owner: stringOf(row["owner"]) as OwnerToken,
    origin: originOf(stringOf(row["origin"])),
    fence: integerOf(row["fence"]),
    attempts: integerOf(row["attempts"]),
    leaseUs: leaseSeen(integerOf(row["lease_us"]), integerOf(row["now_us"]), lockWaitUs),
    ...answersOf(state, answer),
    holdReason: optional(row["hold_reason"]),
    createdUs: integerOf(row["created_us"]),
    updatedUs: integerOf(row["updated_us"]),
    expiresUs: integerOf(row["expires_us"]),
  };
}

function printsOf(row: Row): Seen["fingerprint"] {
  return {
    raw: binaryOf(row["fingerprint_raw"]),
    canonical: binaryOf(row["fingerprint_canonical"]),
    ...(row["fingerprint_former"] === null ? {} : { former: binaryOf(row["fingerprint_former"]) }),
  };
}

/** The tick row with the tolerance of `tick.sql`: a read that began a moment before the last tick is not out of order. */
export function tickOf(row: Row): TickRow | undefined {
  if (row["last_us"] === null || row["last_us"] === undefined) return undefined;
  const nowUs = integerOf(row["now_us"]);
  const lastUs = integerOf(row["last_us"]);
  return {
    lastUs: tickSeen(lastUs, nowUs, tickPatienceUs),
    intervalUs: integerOf(row["interval_us"]),
    steadySinceUs: integerOf(row["steady_since_us"]),
  };
}

/** A row of `landed`. */
export function holdingOf(row: Row): Holding {
  return {
    state: stateOf(stringOf(row["state"])),
    owner: stringOf(row["owner"]) as OwnerToken,
    fence: integerOf(row["fence"]),
  };
}

function responseOf(row: Row): StoredResponse | undefined {
  if (row["response_status"] === null) return undefined;
  return {
    kind: kindOf(stringOf(row["response_kind"])),
    status: integerOf(row["response_status"]),
    headers: decodeHeaders(stringOf(row["response_headers"])),
    body: binaryOf(row["response_body"] ?? empty),
  };
}

export function recordOf(row: Row): StoredRecord {
  const fingerprint = { version: integerOf(row["fingerprint_version"]), ...printsOf(row) };
  const labels = decodeLabels(optional(row["labels"]) ?? null);
  const shown = { ...shownOf(row), stepsStarted: integerOf(row["steps_started"]) };
  return recordView({ identity: identityOfRow(row), fingerprint, labels }, shown, integerOf(row["now_us"]));
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
  const bytes = (name: string): Buffer => bufferOf(binaryOf(row[name]));
  return { key: bytes("key"), scopeHash: bytes("scope_hash"), owner: bytes("owner"), fence: integerOf(row["fence"]) };
}

export function positionOf(row: Row): Pick<Identity, "key" | "scopeHash"> {
  return { key: stringOf(row["key"]) as Key, scopeHash: binaryOf(row["scope_hash"]) };
}

export function labelledOf(row: Row): {
  readonly identity: Pick<Identity, "key" | "scopeHash">;
  readonly labels: Readonly<Record<string, string>>;
} {
  return { identity: positionOf(row), labels: decodeLabels(optional(row["labels"]) ?? null) };
}

export function stepOf(row: Row): Step {
  const finished = row["finished_us"] !== null;
  const step = {
    name: stringOf(row["name"]),
    attempt: integerOf(row["attempt"]),
    startedUs: integerOf(row["started_us"]),
    lastStartedUs: integerOf(row["last_started_us"]),
    finishedUs: finished ? integerOf(row["finished_us"]) : undefined,
    result: finished ? binaryOf(row["result"] ?? empty) : undefined,
  };
  return stepView(step, integerOf(row["now_us"]));
}
