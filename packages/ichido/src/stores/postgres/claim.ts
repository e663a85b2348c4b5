/** `claim`: alone or in a group, and what it answers when the row cannot be had. */
import type { ClaimRequest, ClaimResult } from "../../core/contract/store.ts";
import type { TransactionHandle } from "../../core/contract/transaction.ts";
import { encodeLabels } from "../encoding.ts";
import { refusalWhileLocked, sentAgain, stillProcessing } from "../../core/record-machine/claim.ts";
import { bytesArray, numberArray, textArray } from "./arrays.ts";
import type { Connection, Row } from "./connection.ts";
import { failureKind } from "./failures.ts";
import { createGrouped, type Sending } from "./group.ts";
import { requireDialect } from "../joined-transaction.ts";
import { claimNew } from "./in-transaction.ts";
import type { ResolvedOptions } from "./options.ts";
import type { Left, Retries } from "./retries.ts";
import { claimResultOf, numberOf, recordOf } from "./row.ts";
import type { Statements } from "./statements.ts";
import { encodeMembers, encodeOptional, encodeText } from "./text.ts";

export interface StoreParts {
  readonly connection: Connection;
  readonly statements: Statements;
  readonly options: ResolvedOptions;
  readonly withRetries: Retries;
  readonly channel: string;
}

export function createClaims(
  parts: StoreParts,
): (request: ClaimRequest, transaction?: TransactionHandle) => Promise<ClaimResult> {
  const { connection, statements, options, withRetries } = parts;
  /** Of groups that failed after they had been sent more than once: a former copy may still take effect. */
  const sentBefore = new WeakSet<ClaimRequest>();

  async function sendMany(
    requests: readonly ClaimRequest[],
    { lockMs, left }: Sending,
    sent = { times: 0 },
  ): Promise<readonly ClaimResult[]> {
    const values = valuesOf(requests, lockMs);
    const send = (leftMs: number): Promise<readonly Row[]> => {
      sent.times += 1;
      return connection.run(statements.claim, values, leftMs);
    };
    const rows = await withRetries("always", send, { withinMs: left() }).catch((error: unknown) => {
      if (sent.times > 1) for (const request of requests) sentBefore.add(request);
      throw error;
    });
    const byPlace: Row[] = [];
    for (const row of rows) byPlace[numberOf(row[0]) - 1] = row;
    return requests.map((request, index) => {
      const row = byPlace[index];
      if (row === undefined) throw new TypeError("not every claim was answered");
      const result = claimResultOf(row, request);
      return sent.times > 1 ? sentAgain(result) : result;
    });
  }

  async function sendOne(request: ClaimRequest, sending: Sending): Promise<ClaimResult> {
    const sent = { times: sentBefore.has(request) ? 1 : 0 };
    try {
      const [answer] = await sendMany([request], sending, sent);
      return answer as ClaimResult;
    } catch (error) {
      if (failureKind(error) !== "locked") throw error;
      const result = await whileLocked(request, sending.left);
      return sent.times > 1 ? sentAgain(result) : result;
    }
  }

  /**
   * The record is not visible until the caller commits: a duplicate waits for that. Errors come as they are, because
   * only the caller can roll back; a lock that did not come free in time has already spoilt the transaction, which was
   * empty.
   */
  async function join(request: ClaimRequest, transaction: TransactionHandle): Promise<ClaimResult> {
    requireDialect("postgres", transaction);
    try {
      const waitMs = Math.max(1, request.waitMs ?? options.lockTimeoutMs);
      const granted = await claimNew(statements, request, waitMs, transaction);
      if (granted !== undefined) return granted;
      const values = valuesOf([request], waitMs);
      const { rows } = await transaction.execute(statements.claim.text, values);
      // By position: an ORM may rename columns, but keeps their order. Some make undefined of NULL.
      const row = Object.values(rows[0] ?? {}).map((value) => value ?? null);
      return claimResultOf(row, request);
    } catch (error) {
      if (failureKind(error) !== "locked") throw error;
      return stillProcessing;
    }
  }

  /** Another transaction holds the row for too long: the last committed state is read without a lock. */
  async function whileLocked(request: ClaimRequest, left: Left): Promise<ClaimResult> {
    const values = [encodeText(request.identity.key), request.identity.scopeHash];
    const look = (leftMs: number): Promise<readonly Row[]> => connection.run(statements.find, values, leftMs);
    const [row] = await withRetries("always", look, { withinMs: left() });
    const record = row === undefined || row[1] === null ? undefined : recordOf(row);
    return refusalWhileLocked(record, request.fingerprint);
  }

  const sendAlone = createGrouped(parts, "claim", { weightOf: () => 0, sendMany, sendOne });

  return (request, transaction) => (transaction === undefined ? sendAlone(request) : join(request, transaction));
}

function valuesOf(requests: readonly ClaimRequest[], lockTimeoutMs: number): unknown[] {
  const identities = requests.map((request) => request.identity);
  const fingerprints = requests.map((request) => request.fingerprint);
  return [
    textArray(identities.map(({ key }) => encodeText(key))),
    bytesArray(identities.map(({ scopeHash }) => scopeHash)),
    textArray(identities.map(({ tenant }) => encodeOptional(tenant))),
    textArray(identities.map(({ principal }) => encodeOptional(principal))),
    textArray(identities.map(({ operation }) => encodeText(operation))),
    numberArray(fingerprints.map(({ version }) => version)),
    bytesArray(fingerprints.map(({ raw }) => raw)),
    bytesArray(fingerprints.map(({ canonical }) => canonical)),
    bytesArray(fingerprints.map(({ former }) => former)),
    textArray(requests.map(({ owner }) => owner)),
    numberArray(requests.map(({ leaseMs }) => leaseMs)),
    numberArray(requests.map(({ retentionMs }) => retentionMs)),
    textArray(requests.map(({ takeover }) => takeover)),
    textArray(requests.map(({ doubtStays }) => String(doubtStays === true))),
    textArray(requests.map(({ labels }) => encodeLabels(labels === undefined ? undefined : encodeMembers(labels)))),
    String(lockTimeoutMs),
  ];
}
