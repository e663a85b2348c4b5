/** `claim` and `complete` on the caller's own transaction: one record, one attempt, and errors as they are. */
import { IchidoError } from "../../core/contract/errors.ts";
import type { ClaimRequest, ClaimResult, CompleteRequest, Fenced } from "../../core/contract/store.ts";
import { TransactionAborted, type TransactionHandle } from "../../core/contract/transaction.ts";
import { FenceLost } from "../../core/engine/steps.ts";
import { encodeHeaders } from "../encoding/header-lines.ts";
import { encodeLabels } from "../encoding/labels.ts";
import { bufferOf } from "./arrays.ts";
import { sqlStateOf } from "./failures.ts";
import { flagOf, numberOf } from "./row.ts";
import type { Statements } from "./statements.ts";
import { encodeMembers, encodeOptional, encodeText } from "./text.ts";

const often = { frequent: true };

export function refuseOtherDialect(transaction: TransactionHandle): void {
  if (transaction.dialect === "postgres") return;
  throw new IchidoError(
    "usage-invalid",
    `transaction: expected a handle on PostgreSQL, got one on ${transaction.dialect}; the record and the business writes ` +
      "must be in one database",
  );
}

/** Nearly every claim is the first of its key, so that is tried first. Undefined when there is a record already. */
export async function claimNew(
  statements: Statements,
  request: ClaimRequest,
  lockTimeoutMs: number,
  transaction: TransactionHandle,
): Promise<ClaimResult | undefined> {
  const { identity, fingerprint, labels } = request;
  const values = [
    encodeText(identity.key),
    bufferOf(identity.scopeHash),
    encodeOptional(identity.tenant),
    encodeOptional(identity.principal),
    encodeText(identity.operation),
    String(fingerprint.version),
    bufferOf(fingerprint.raw),
    bufferOf(fingerprint.canonical),
    fingerprint.former === undefined ? null : bufferOf(fingerprint.former),
    request.owner,
    String(request.leaseMs),
    String(request.retentionMs),
    encodeLabels(labels === undefined ? undefined : encodeMembers(labels)),
    String(lockTimeoutMs),
  ];
  const value = onlyValue((await transaction.execute(statements.claimNew.text, values, often)).rows);
  if (value === null) return undefined;
  // The fence of a new record is its time of birth in microseconds.
  const fence = numberOf(value);
  return {
    outcome: "granted",
    fence,
    attempt: 1,
    origin: "new",
    stepsStarted: 0,
    canonical: fingerprint.canonical,
    createdAtMs: Math.floor(fence / 1_000),
    expiresAtMs: Math.floor(fence / 1_000) + request.retentionMs,
  };
}

export async function completeOne(
  statements: Statements,
  request: CompleteRequest,
  channel: string,
  transaction: TransactionHandle,
): Promise<Fenced> {
  refuseOtherDialect(transaction);
  const { identity, response } = request;
  const values = [
    encodeText(identity.key),
    bufferOf(identity.scopeHash),
    request.owner,
    String(request.fence),
    response.kind,
    String(response.status),
    encodeHeaders(response.headers),
    bufferOf(response.body),
    channel,
  ];
  if (request.endsTransaction === true && transaction.sendWithCommit !== undefined) {
    // Judged with COMMIT: the function raises where the record is not held, and then the server does not commit.
    transaction.sendWithCommit(statements.completeLast.text, values, lostOr);
    return "ok";
  }
  try {
    const { rows } = await transaction.execute(statements.completeOne.text, values, often);
    return flagOf(onlyValue(rows)) ? "ok" : "stale";
  } catch (error) {
    throw abortedOr(error);
  }
}

/** Raised by `complete_last`. */
const stale = "IC001";

function lostOr(error: unknown): unknown {
  return sqlStateOf(error) === stale ? new FenceLost("another attempt owns this key", { cause: error }) : error;
}

/** A statement before has failed, and the caller went on. */
function abortedOr(error: unknown): unknown {
  return sqlStateOf(error) === "25P02" ? new TransactionAborted(error) : error;
}

/** By position: an ORM may rename columns. Some make undefined of NULL. */
function onlyValue([row]: readonly Readonly<Record<string, unknown>>[]): unknown {
  return row === undefined ? undefined : (Object.values(row)[0] ?? null);
}
