/** Removing what was kept long enough: small batches, each its own transaction, within a time budget. */
import { knownOptions } from "../core/contract/option-checks.ts";
import type { Environment } from "../core/contract/environment.ts";
import type { TransactionRunner } from "../core/contract/transaction.ts";
import type { Statements } from "./database.ts";
import { bytesOf, numberOf } from "../sql/columns.ts";

export interface OutboxSweepResult {
  readonly deleted: number;
  /** More could be removed by another call. */
  readonly more: boolean;
}

const limitDefault = 10_000;
const budgetMsDefault = 200;
const batch = 1_000;
/** A key of `strict` is needed while the transaction that locks it is open. */
const keepKeysMs = 3_600_000;

const hashOf = (row: Readonly<Record<string, unknown>>): string =>
  Buffer.from(bytesOf(row, "key_hash")).toString("hex");

export async function sweepOutbox(
  parts: {
    readonly transactions: TransactionRunner<unknown>;
    readonly run: Statements;
    readonly keepSentMs: number;
    readonly keepDeadMs: number;
    readonly environment: Environment;
  },
  options: { readonly limit?: number; readonly budgetMs?: number } = {},
): Promise<OutboxSweepResult> {
  knownOptions("outbox.sweep", options, { limit: true, budgetMs: true });
  const { limit = limitDefault, budgetMs = budgetMsDefault } = options;
  const { transactions, run, environment } = parts;
  const untilMs = environment.monotonicMs() + budgetMs;
  let deleted = 0;

  /** How many may go now; 0: enough for one call. */
  const most = (): number => (environment.monotonicMs() >= untilMs ? 0 : Math.min(batch, limit - deleted));

  async function removeAll(
    pick: "sweepSentPick" | "sweepDeadPick",
    remove: "sweepSent" | "removeDead",
    keepMs: number,
  ) {
    for (;;) {
      const wanted = most();
      if (wanted <= 0) return true;
      const found = await transactions.run(async (_tx, handle) => {
        const { rows } = await run(handle, pick, { keep_ms: keepMs, limit: wanted });
        const seqs = rows.map((row) => numberOf(row, "seq"));
        if (remove === "sweepSent" && seqs.length > 0) await run(handle, remove, { seqs });
        if (remove === "removeDead") for (const seq of seqs) await run(handle, remove, { seq });
        return seqs.length;
      });
      deleted += found;
      if (found < wanted) return false;
    }
  }

  /** MySQL and MariaDB alone: elsewhere `strict` locks without rows. */
  async function removeKeys(): Promise<boolean> {
    while (transactions.dialect === "mysql") {
      const wanted = most();
      if (wanted <= 0) return true;
      const { found, removed } = await transactions.run(async (_tx, handle) => {
        const picked = (await run(handle, "sweepKeysPick", { keep_ms: keepKeysMs, limit: wanted })).rows.map(hashOf);
        if (picked.length === 0) return { found: 0, removed: 0 };
        const values = { hashes: JSON.stringify(picked), keep_ms: keepKeysMs };
        const hashes = (await run(handle, "sweepKeysLock", values)).rows.map(hashOf);
        if (hashes.length > 0) await run(handle, "sweepKeys", { hashes: JSON.stringify(hashes) });
        return { found: picked.length, removed: hashes.length };
      });
      deleted += removed;
      // No more, or transactions write under all the rest.
      if (found < wanted || removed === 0) return false;
    }
    return false;
  }

  const moreSent = await removeAll("sweepSentPick", "sweepSent", parts.keepSentMs);
  const moreDead = await removeAll("sweepDeadPick", "removeDead", parts.keepDeadMs);
  const moreKeys = await removeKeys();
  await transactions.run((_tx, handle) => run(handle, "sweepParked"));
  return { deleted, more: moreSent || moreDead || moreKeys };
}
