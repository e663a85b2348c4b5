/** postgres.js (`postgres`). */
import { aroundLibrary, handleOf, type TransactionHandle, type TransactionRunner } from "./handle.ts";

export interface PostgresTransaction {
  unsafe(query: string, values?: never[]): Promise<readonly unknown[] & { readonly count?: number | null }>;
}

export interface PostgresSql<Tx extends PostgresTransaction> {
  begin(fn: (tx: Tx) => Promise<unknown>): Promise<unknown>;
}

/** The `sql` that `sql.begin(async (sql) => …)` hands to its function. */
export function fromPostgres(tx: PostgresTransaction): TransactionHandle {
  return handleOf({
    dialect: "postgres",
    async execute(text, values) {
      const rows = await tx.unsafe(text, [...values] as never[]);
      return { rows: rows as unknown as readonly Record<string, unknown>[], affected: rows.count ?? rows.length };
    },
  });
}

export function postgresTransactions<Tx extends PostgresTransaction>(sql: PostgresSql<Tx>): TransactionRunner<Tx> {
  return {
    dialect: "postgres",
    run: (fn, options) =>
      aroundLibrary(
        (body) => sql.begin(body),
        (tx) => fromPostgres(tx),
        fn,
        options,
      ),
  };
}
