/** `claim`: alone or in a group, and what it answers when the row cannot be had. */
import type { Identity } from "../../core/contract/record.ts";
import type { ClaimRequest, ClaimResult } from "../../core/contract/store.ts";
import type { TransactionHandle } from "../../core/contract/transaction.ts";
import { encodeLabels } from "../encoding/labels.ts";
import { isSameRequest } from "../../core/record-machine/claim.ts";
import { bytesArray, numberArray, textArray } from "./arrays.ts";
import type { Connection } from "./connection.ts";
import { failureKind, toIchidoError } from "./failures.ts";
import { createGroup } from "./group.ts";
import { claimNew, refuseOtherDialect } from "./in-transaction.ts";
import type { ResolvedOptions } from "./options.ts";
import type { Retries } from "./retries.ts";
import { claimResultOf, numberOf, recordOf } from "./row.ts";
import type { Statements } from "./statements.ts";
import { encodeMembers, encodeOptional, encodeText } from "./text.ts";

/** A group is not patient: its members are asked for again one by one, so that one locked row costs the others little. */
export const groupLockTimeoutMs = 50;
/** What a caller is told about a row that someone is writing at this very moment: come back soon. */
const lockedRetryMs = 1_000;

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

  async function sendMany(requests: readonly ClaimRequest[], lockTimeoutMs: number): Promise<readonly ClaimResult[]> {
    const values = valuesOf(requests, lockTimeoutMs);
    const rows = await withRetries("always", (leftMs) => connection.run(statements.claim, values, leftMs));
    const answers: ClaimResult[] = [];
    for (const row of rows) answers[numberOf(row[0]) - 1] = claimResultOf(row);
    if (rows.length !== requests.length) throw new TypeError("not every claim was answered");
    return answers;
  }

  async function sendOne(request: ClaimRequest): Promise<ClaimResult> {
    try {
      const [answer] = await sendMany([request], options.lockTimeoutMs);
      return answer as ClaimResult;
    } catch (error) {
      if (failureKind(error) !== "locked") throw error;
      return whileLocked(request);
    }
  }

  /**
   * Unseen until the caller commits: a duplicate waits for that. Errors come as they are, because only the caller can roll
   * back; a lock that did not come free in time has already spoilt the transaction, which was empty.
   */
  async function join(request: ClaimRequest, transaction: TransactionHandle): Promise<ClaimResult> {
    refuseOtherDialect(transaction);
    try {
      const waitMs = Math.max(1, request.waitMs ?? options.lockTimeoutMs);
      const granted = await claimNew(statements, request, waitMs, transaction);
      if (granted !== undefined) return granted;
      const values = valuesOf([request], waitMs);
      const { rows } = await transaction.execute(statements.claim.text, values);
      // By position: an ORM may rename columns, but keeps their order. Some make undefined of NULL.
      return claimResultOf(Object.values(rows[0] ?? {}).map((value) => value ?? null));
    } catch (error) {
      if (failureKind(error) !== "locked") throw error;
      return { outcome: "processing", leaseLeftMs: lockedRetryMs, attempts: 1 };
    }
  }

  /** Someone holds the row and does not let go: what was last committed, read without a lock, says enough to refuse. */
  async function whileLocked(request: ClaimRequest): Promise<ClaimResult> {
    const values = [encodeText(request.identity.key), request.identity.scopeHash];
    const [row] = await withRetries("always", (leftMs) => connection.run(statements.find, values, leftMs));
    if (row === undefined || row[1] === null) return { outcome: "processing", leaseLeftMs: lockedRetryMs, attempts: 1 };
    const record = recordOf(row);
    if (!isSameRequest(record.fingerprint, request.fingerprint)) return { outcome: "mismatch" };
    const leftMs = Math.max(record.leaseLeftMs ?? 0, 0);
    return {
      outcome: "processing",
      leaseLeftMs: leftMs > 0 ? leftMs : lockedRetryMs,
      attempts: record.attempts,
    };
  }

  const group = createGroup<ClaimRequest, ClaimResult>({
    sizeMax: options.groupSizeMax,
    waitMs: options.callTimeoutMs,
    idOf: (request) => idOf(request.identity),
    weightOf: () => 0,
    sendMany: (requests) => sendMany(requests, Math.min(groupLockTimeoutMs, options.lockTimeoutMs)),
    sendOne,
    splits,
  });

  const send = options.group ? group : sendOne;

  async function sendAlone(request: ClaimRequest): Promise<ClaimResult> {
    try {
      return await send(request);
    } catch (error) {
      throw toIchidoError(error, "claim");
    }
  }

  return (request, transaction) => (transaction === undefined ? sendAlone(request) : join(request, transaction));
}

/** Orders by key, then by scope, alike in every process. */
export function idOf(identity: Identity): string {
  return `${identity.key}\0${Buffer.from(identity.scopeHash).toString("latin1")}`;
}

/** One member's row or value may be the reason, unless the server could not be reached at all. */
export function splits(error: unknown): boolean {
  const kind = failureKind(error);
  return kind === "locked" || kind === "conflict" || kind === "refused";
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
