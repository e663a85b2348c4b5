/** `claim` and `complete` on the caller's own transaction: one record, one attempt, and errors as they are. */
import type { ClaimRequest, ClaimResult, CompleteRequest, Fenced } from "../../core/store.ts";
import type { TransactionHandle } from "../../core/transaction.ts";
import { FenceLost } from "../../core/steps.ts";
import { encodeHeaders } from "../shared/header-lines.ts";
import { encodeLabels } from "../shared/labels.ts";
import { bufferOf } from "./arrays.ts";
import { sqlStateOf } from "./failures.ts";
import { flagOf, numberOf } from "./row.ts";
import type { Statements } from "./statements.ts";
import { encodeMembers, encodeOptional, encodeText } from "./text.ts";

const often = { frequent: true };

/** Nearly every claim is the first of its key, so that is tried first. Undefined when there is a record already. */
export async function claimNew(
  statements: Statements,
  request: ClaimRequest,
  lockTimeoutMs: number,
  transaction: TransactionHandle,
): Promise<ClaimResult | undefined> {
  const { identity, fingerprint, labels, retentionMs } = request;
  const { rows } = await transaction.execute(
    statements.claimNew.text,
    [
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
      String(retentionMs),
      encodeLabels(labels === undefined ? undefined : encodeMembers(labels)),
      String(lockTimeoutMs),
    ],
    often,
  );
  const value = onlyValue(rows);
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
    expiresAtMs: Math.floor(fence / 1_000) + retentionMs,
  };
}

export async function completeOne(
  statements: Statements,
  request: CompleteRequest,
  channel: string,
  transaction: TransactionHandle,
): Promise<Fenced> {
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
  if (request.endsTransaction === true && transaction.closeWith !== undefined) {
    // Judged with COMMIT: the function raises where the record is not held, and then the server does not commit.
    transaction.closeWith(statements.completeLast.text, values, lostOr);
    return "ok";
  }
  const { rows } = await transaction.execute(statements.completeOne.text, values, often);
  return flagOf(onlyValue(rows)) ? "ok" : "stale";
}

const staleState = "IC001";

function lostOr(error: unknown): unknown {
  return sqlStateOf(error) === staleState ? new FenceLost("another attempt owns this key", { cause: error }) : error;
}

/** By position: an ORM may rename columns. */
function onlyValue(rows: readonly Readonly<Record<string, unknown>>[]): unknown {
  return Object.values(rows[0] ?? {})[0];
}
