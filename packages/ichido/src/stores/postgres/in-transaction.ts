/** `claim` and `complete` on the caller's own transaction: one record, one attempt, and errors as they are. */
import { limits } from "../../core/contract/defaults.ts";
import type { ClaimRequest, ClaimResult, CompleteRequest, Fenced } from "../../core/contract/store.ts";
import { TransactionAborted, type TransactionHandle } from "../../core/contract/transaction.ts";
import { bornWith, grantOf } from "../../core/record-machine/claim.ts";
import { FenceLost } from "../../core/engine/steps.ts";
import { requireDialect } from "../joined-transaction.ts";
import { encodeLabels } from "../encoding.ts";
import { bufferOf } from "../../sql/statement.ts";
import { sqlStateOf } from "./failures.ts";
import { flagOf, numberOf } from "./row.ts";
import type { Statements } from "./statements.ts";
import { claimValues, responseValues, toldOf } from "./values.ts";
import { encodeMembers, encodeOptional, encodeText } from "./text.ts";

const often = { frequent: true };

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
  return grantOf(bornWith(numberOf(value), request, fingerprint), fingerprint.canonical, "new");
}

export async function completeOne(
  statements: Statements,
  request: CompleteRequest,
  channel: string,
  transaction: TransactionHandle,
): Promise<Fenced> {
  requireDialect("postgres", transaction);
  const told = toldOf(request.resources);
  // Before the completion, which may travel with COMMIT: a transaction that does not hold the record commits neither.
  if (told !== null) {
    const telling = [...claimValues(request), told, String(limits.resourcesMax)];
    await transaction.execute(statements.tell.text, telling);
  }
  const values = [...claimValues(request), ...responseValues(request.response), channel];
  const { text } = statements.completeOne;
  if (request.endsTransaction === true && transaction.sendWithCommit !== undefined) {
    // Judged with COMMIT: the function raises where the record is not held, and then the server does not commit.
    transaction.sendWithCommit(text, [...values, "true"], lostOr);
    return "ok";
  }
  try {
    const { rows } = await transaction.execute(text, [...values, "false"], often);
    return flagOf(onlyValue(rows)) ? "ok" : "stale";
  } catch (error) {
    throw abortedOr(error);
  }
}

/** Raised by `complete_one`. */
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
