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

/** Opens transactions of the user's own database: `pgTransactions(pool)` and its like in `ichido/transactions`. */
export interface TransactionRunner<Tx> {
  readonly dialect: "postgres" | "mysql" | "sqlite";
  /**
   * `run` rejects where the server undid a transaction that it was asked to commit. PostgreSQL does so, without an error,
   * when a statement had failed and the function caught the error.
   */
  readonly refusesAborted?: boolean;
  /**
   * Runs `fn` inside one transaction on one connection. Commits when it resolves, rolls back when it rejects, and rejects
   * with what `fn` rejected with. A failure of the commit itself rejects with a `CommitFailed`.
   */
  run<Value>(fn: (tx: Tx, handle: TransactionHandle) => Promise<Value>): Promise<Value>;
  /**
   * As `run`, with a first statement that travels together with BEGIN, so that it costs no round trip of its own. The
   * text stands by itself: values are literals in it. Only where the driver can send two statements at once.
   */
  runOpening?<Value>(
    opening: string,
    fn: (tx: Tx, handle: TransactionHandle, opened: TransactionResult) => Promise<Value>,
  ): Promise<Value>;
}

/** COMMIT was sent and its answer did not come, or was an error: whether it took effect must be asked. */
export class CommitFailed extends Error {
  override readonly name: string = "CommitFailed";
}
