/** Where effects are counted: in this process, or in a file that outlives the processes of a case. */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import type { TransactionHandle, TransactionRunner } from "../../core/contract/transaction.ts";

export interface Effects {
  /** One effect, with the attempt's fence. */
  note(fence: number, tally?: string): void;
  count(tally?: string): number;
}

/** Writes an effect on the handler's own transaction, and counts what was committed. */
export interface TransactionalEffects {
  readonly runner: TransactionRunner<unknown>;
  note(handle: TransactionHandle, tally?: string): Promise<void>;
  count(tally?: string): Promise<number>;
}

export function countedEffects(): Effects {
  let count = 0;
  return {
    note() {
      count += 1;
    },
    count: () => count,
  };
}

/** One file per tally, one line per effect: short appends are atomic, also between processes. */
export function filedEffects(path: string): Effects {
  return {
    note: (fence, tally = "") => appendFileSync(path + tally, `${fence}\n`),
    count: (tally = "") => (existsSync(path + tally) ? readFileSync(path + tally, "utf8").split("\n").length - 1 : 0),
  };
}
