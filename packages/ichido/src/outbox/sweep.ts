/** Removing what was kept long enough: small batches, each its own transaction, within a time budget. */
import { knownOptions } from "../core/option-checks.ts";
import type { Environment } from "../core/environment.ts";
import type { TransactionRunner } from "../core/transaction.ts";
import type { Statements } from "./database.ts";
import { numberOf } from "../stores/shared/columns.ts";

export interface SweepResult {
  readonly deleted: number;
  /** More could be removed by another call. */
  readonly more: boolean;
}

const limitDefault = 10_000;
const budgetMsDefault = 200;
const batch = 1_000;

export async function sweepOutbox(
  parts: {
    readonly transactions: TransactionRunner<unknown>;
    readonly run: Statements;
    readonly keepSentMs: number;
    readonly keepDeadMs: number;
    readonly environment: Environment;
  },
  options: { readonly limit?: number; readonly budgetMs?: number } = {},
): Promise<SweepResult> {
  knownOptions("outbox.sweep", options, { limit: true, budgetMs: true });
  const { limit = limitDefault, budgetMs = budgetMsDefault } = options;
  const { transactions, run, environment } = parts;
  const untilMs = environment.monotonicMs() + budgetMs;
  let deleted = 0;

  async function removeAll(
    pick: "sweepSentPick" | "sweepDeadPick",
    remove: "sweepSent" | "removeDead",
    keepMs: number,
  ) {
    for (;;) {
      const most = Math.min(batch, limit - deleted);
      if (most <= 0 || environment.monotonicMs() >= untilMs) return true;
      const found = await transactions.run(async (_tx, handle) => {
        const { rows } = await run(handle, pick, { keep_ms: keepMs, limit: most });
        const seqs = rows.map((row) => numberOf(row, "seq"));
        if (remove === "sweepSent" && seqs.length > 0) await run(handle, remove, { seqs });
        if (remove === "removeDead") for (const seq of seqs) await run(handle, remove, { seq });
        return seqs.length;
      });
      deleted += found;
      if (found < most) return false;
    }
  }

  const moreSent = await removeAll("sweepSentPick", "sweepSent", parts.keepSentMs);
  const moreDead = await removeAll("sweepDeadPick", "removeDead", parts.keepDeadMs);
  await transactions.run((_tx, handle) => run(handle, "sweepParked"));
  return { deleted, more: moreSent || moreDead };
}
