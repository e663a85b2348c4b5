/** For what types cannot catch: the pool in place of what `pgTransactions(pool)` gives, a client in place of a handle. */
import { optionInvalid } from "../core/contract/option-checks.ts";
import type { TransactionRunner } from "../core/contract/transaction.ts";

const dialects: readonly unknown[] = ["postgres", "mysql", "sqlite"];

/** Whether it has the function, and a dialect. */
export function speaks(value: unknown, name: string): boolean {
  const { [name]: fn, dialect } = Object(value) as Readonly<Record<string, unknown>>;
  return typeof fn === "function" && dialects.includes(dialect);
}

export function aRunner(option: string, value: unknown): TransactionRunner<unknown> {
  if (speaks(value, "run")) return value as TransactionRunner<unknown>;
  throw optionInvalid(option, "what pgTransactions(pool) or its like in ichido/transactions gives", value);
}
