/**
 * A handle on the caller's own transaction, made by the `from…` functions of `ichido/transactions`. Statements run on
 * that one connection or fail; a handle never falls back to a pool and never reconnects.
 */
export interface TransactionHandle {
  readonly dialect: "postgres" | "mysql" | "sqlite";
  /** Placeholders in the dialect's own form: `$1` for PostgreSQL, `?` for MySQL and SQLite. */
  execute(sql: string, values: readonly unknown[]): Promise<TransactionResult>;
}

export interface TransactionResult {
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  readonly affected: number;
}
