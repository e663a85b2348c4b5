/**
 * Positional rows to values. Numbers are converted here and not trusted to the driver: a program may have set a parser
 * of its own for `bigint`.
 */
import type { Key, OwnerToken, StoredResponse } from "../../core/contract/record.ts";
import type { AuditEntry } from "../../core/contract/history.ts";
import type { ClaimRequest, ClaimResult, Step, StoredRecord, StoreStats } from "../../core/contract/store.ts";
import { completedOf, grantedOf, processingOf, unknownOf } from "../../core/record-machine/claim.ts";
import { leaseEndUs, originOf, usOf } from "../../core/record-machine/record.ts";
import { answersOf, recordView, stepTold, summed } from "../../core/record-machine/view.ts";
import { decodeHeaders, decodeLabels, kindOf, stateOf } from "../encoding.ts";
import type { Row } from "./connection.ts";
import { decodeMembers, decodeText } from "./text.ts";

export function numberOf(value: unknown): number {
  const number = typeof value === "number" ? value : Number(value);
  return value === null || Number.isNaN(number) ? damaged() : number;
}

export function optionalNumber(value: unknown): number | undefined {
  return value === null ? undefined : numberOf(value);
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : damaged();
}

export function optionalText(value: unknown): string | undefined {
  return value === null ? undefined : decodeText(textOf(value));
}

/** Without a copy. A driver's own Buffer becomes the plain array that the contract names. */
export function bytesOf(value: unknown): Uint8Array {
  if (!(value instanceof Uint8Array)) return damaged();
  return value.constructor === Uint8Array ? value : new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
}

export function flagOf(value: unknown): boolean {
  return value === true || value === "t" || value === "true" || value === 1 || value === "1";
}

function damaged(): never {
  throw new TypeError("a row does not hold what ichido wrote");
}

/** Kind, status, headers, body, as they stand in four columns; undefined when there is no answer. */
function responseOf(kind: unknown, status: unknown, headers: unknown, body: unknown): StoredResponse | undefined {
  if (kind === null) return undefined;
  return {
    kind: kindOf(kind),
    status: numberOf(status),
    headers: decodeHeaders(textOf(headers)),
    body: body === null ? new Uint8Array() : bytesOf(body),
  };
}

/** A row of `claim.sql`. A new record has the canonical hash that it was asked for with. */
export function claimResultOf(row: Row, { fingerprint }: Pick<ClaimRequest, "fingerprint">): ClaimResult {
  const [, outcome, fence, attempt, origin, steps, canonical, createdMs, expiresMs, expiresInMs, leaseLeftMs] = row;
  const [holdReason, kind, status, headers, body, resent] = row.slice(11);
  switch (outcome) {
    case "granted":
      return grantedOf(
        {
          outcome,
          fence: numberOf(fence),
          attempt: numberOf(attempt),
          origin: originOf(textOf(origin)),
          stepsStarted: numberOf(steps),
          canonical: canonical === null ? fingerprint.canonical : bytesOf(canonical),
          createdAtMs: numberOf(createdMs),
          expiresAtMs: numberOf(expiresMs),
        },
        flagOf(resent),
      );
    case "completed":
      return completedOf({
        outcome,
        response: responseOf(kind, status, headers, body) ?? damaged(),
        fence: numberOf(fence),
        attempts: numberOf(attempt),
        createdAtMs: numberOf(createdMs),
        expiresAtMs: numberOf(expiresMs),
        expiresInMs: numberOf(expiresInMs),
      });
    case "processing":
      return processingOf(numberOf(leaseLeftMs), numberOf(attempt));
    case "unknown": {
      const interim = responseOf(kind, status, headers, body);
      return unknownOf(numberOf(fence), numberOf(attempt), interim, optionalText(holdReason));
    }
    case "mismatch":
      return { outcome };
    default:
      return damaged();
  }
}

/** The server tells what is left of a lease and no moment, so records are seen at this one. */
const momentUs = 0;

/** The columns of a record in `find.sql` and `list.sql`; the first says whether the server is a standby. */
export function recordOf(row: Row): StoredRecord {
  const [, key, scopeHash, tenant, principal, operation, version, raw, canonical, former, state] = row;
  const [owner, origin, fence, attempts, leaseLeftMs, steps, holdReason, kind, status, headers] = row.slice(11);
  const [labels, createdMs, updatedMs, expiresMs, body] = row.slice(21);
  const known = stateOf(state);
  const identity = {
    // eslint-disable-next-line typescript/no-unsafe-type-assertion -- it was validated when it was claimed
    key: decodeText(textOf(key)) as Key,
    scopeHash: bytesOf(scopeHash),
    tenant: optionalText(tenant),
    principal: optionalText(principal),
    operation: decodeText(textOf(operation)),
  };
  const fingerprint = {
    version: numberOf(version),
    raw: bytesOf(raw),
    canonical: bytesOf(canonical),
    ...(former !== null && { former: bytesOf(former) }),
  };
  const shown = {
    state: known,
    // eslint-disable-next-line typescript/no-unsafe-type-assertion -- as above
    owner: textOf(owner) as OwnerToken,
    origin: originOf(textOf(origin)),
    fence: numberOf(fence),
    attempts: numberOf(attempts),
    leaseUs: leaseLeftMs === null ? 0 : leaseEndUs(numberOf(leaseLeftMs), momentUs),
    stepsStarted: numberOf(steps),
    ...answersOf(known, responseOf(kind, status, headers, body)),
    holdReason: optionalText(holdReason),
    createdUs: usOf(numberOf(createdMs)),
    updatedUs: usOf(numberOf(updatedMs)),
    expiresUs: usOf(numberOf(expiresMs)),
  };
  const told = decodeMembers(decodeLabels(labels === null ? null : textOf(labels)));
  return recordView({ identity, fingerprint, labels: told }, shown, momentUs);
}

/** A row of `steps.sql`. */
export function stepOf(row: Row): Step {
  const [, name, attempt, result, finished, startedMs, firstAgeMs, finishedMs, lastStartedMs, ageMs] = row;
  const begun = {
    name: decodeText(textOf(name)),
    attempt: numberOf(attempt),
    startedAtMs: numberOf(startedMs),
    lastStartedAtMs: numberOf(lastStartedMs),
    ageMs: numberOf(ageMs),
    firstAgeMs: numberOf(firstAgeMs),
  };
  const end = flagOf(finished) ? { finishedAtMs: numberOf(finishedMs), result: bytesOf(result) } : undefined;
  return stepTold(begun, end);
}

/** A row of `audit.sql`. */
export function auditEntryOf([atMs, actor, action, reason, fence]: Row): AuditEntry {
  return {
    atMs: numberOf(atMs),
    actor: decodeText(textOf(actor)),
    action: textOf(action),
    reason: decodeText(textOf(reason)),
    fence: numberOf(fence),
  };
}

/** The row of `stats.sql`. */
export function statsOf(row: Row): StoreStats {
  const [processing = 0, completed = 0, failed = 0, unknown = 0, bodyBytes = 0, ...sizes] = row.map(numberOf);
  const [sweepLagMs = 0, oldestUnknownMs = 0, estimated = 0] = sizes;
  const counts = { processing, completed, failed, unknown, bodyBytes };
  return summed({ ...counts, sweepLagMs, oldestUnknownMs, ...(estimated === 1 && { estimated: true }) });
}
