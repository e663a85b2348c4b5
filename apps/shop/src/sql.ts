/** SQL in every dialect that ichido's transactions speak: what uses this runs on any of them. */
import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { nodeSqliteTransactions, type TransactionHandle, type TransactionRunner } from "ichido/transactions";
import { patiently } from "./database.ts";

/** Runs statements: inside a transaction, or one by one outside. */
export type Sql = Pick<TransactionHandle, "dialect" | "execute">;

export interface SqlDatabase {
  /** Sees what is committed. */
  readonly reads: Sql;
  readonly transactions: TransactionRunner<unknown>;
}

/**
 * Transactions get a connection of their own: they span awaits, and a statement of another request on the same connection
 * would land inside them.
 */
export function sqliteSql(reading: DatabaseSync, writing: DatabaseSync): SqlDatabase {
  return {
    reads: {
      dialect: "sqlite",
      execute: (text, values) =>
        patiently(() => {
          const rows = reading.prepare(text).all(...(values as readonly SQLInputValue[])) as Record<string, unknown>[];
          return { rows, affected: rows.length };
        }),
    },
    transactions: nodeSqliteTransactions(writing) as TransactionRunner<unknown>,
  };
}

type Query<Result> = (strings: TemplateStringsArray, ...values: readonly (string | number)[]) => Promise<Result>;

export function select<Row>(on: Sql): Query<readonly Row[]> {
  return async (strings, ...values) => (await on.execute(textOf(on, strings), values)).rows as readonly Row[];
}

/** Tells how many rows it changed. */
export function change(on: Sql): Query<number> {
  return async (strings, ...values) => (await on.execute(textOf(on, strings), values)).affected;
}

function textOf({ dialect }: Sql, strings: TemplateStringsArray): string {
  return strings.reduce((text, part, index) => `${text}${dialect === "postgres" ? `$${index}` : "?"}${part}`);
}
