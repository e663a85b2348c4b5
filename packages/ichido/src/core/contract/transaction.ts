import { IchidoError } from "./errors.ts";

/**
 * A handle on the caller's own transaction, made by the `from…` functions of `ichido/transactions`. Statements run on
 * that one connection or fail; a handle never falls back to a pool and never reconnects.
 */
export interface TransactionHandle {
  readonly dialect: "postgres" | "mysql" | "sqlite";
  /** Placeholders in the dialect's own form: `$1` for PostgreSQL, `?` for MySQL and SQLite. */
  execute(sql: string, values: readonly unknown[], options?: ExecuteOptions): Promise<TransactionResult>;
  /** On SQLite: the transaction has the write lock of the file from its beginning (BEGIN IMMEDIATE). */
  readonly writesAlone?: boolean | undefined;
  /**
   * Present where the runner can send the last statements in one message with COMMIT, in the order in which they are
   * given here. A statement must raise an error where nothing may be committed: the server then does not execute
   * COMMIT, and the runner rolls back and rejects with what `judge` returns for the error, or with the error itself.
   */
  readonly sendWithCommit?:
    | ((sql: string, values: readonly unknown[], judge?: (error: unknown) => unknown) => void)
    | undefined;
  /**
   * Present where the runner owns the connection: ends the connection, also while a statement runs on it, so that the
   * transaction can no longer commit. `run` rejects with a `GivenUp` at once; its function may go on, but can write
   * nothing.
   */
  readonly giveUp?: (() => void) | undefined;
}

export interface ExecuteOptions {
  /** The text is one of a few that are sent often: a driver may keep it prepared. */
  readonly frequent?: boolean;
}

export interface TransactionResult {
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  readonly affected: number;
}

/** Opens transactions of the user's own database: `pgTransactions(pool)` and its like in `ichido/transactions`. */
export interface TransactionRunner<Tx> {
  readonly dialect: "postgres" | "mysql" | "sqlite";
  /**
   * `run` rejects where the server rolled back a transaction that it was asked to commit. PostgreSQL does so, without
   * an error, when a statement had failed and the function caught the error.
   */
  readonly refusesAborted?: boolean;
  /**
   * Runs `fn` inside one transaction on one connection. Commits when it resolves, rolls back when it rejects, and
   * rejects with what `fn` rejected with. A failure of the commit itself rejects with a `CommitFailed`.
   */
  run<Value>(fn: (tx: Tx, handle: TransactionHandle) => Promise<Value>, options?: RunOptions): Promise<Value>;
  /** Runs one statement that only reads, without a transaction. Present only where the driver makes that cheaper. */
  readonly ask?: (sql: string, values: readonly unknown[], options?: ExecuteOptions) => Promise<TransactionResult>;
}

export interface RunOptions {
  /**
   * The function's first statement goes through the handle, before anything is done with `tx`: it may travel in one
   * message with BEGIN where the driver can do that.
   */
  readonly opensByHandle?: boolean;
  /**
   * The runner need not check that the function's statements were still one transaction in the end. The function
   * creates tables, each of which ends a transaction on MySQL, or it lets every error through.
   */
  readonly unwatched?: boolean;
  /**
   * How long the wait for a connection, BEGIN, COMMIT and ROLLBACK may each take. A connection that misses it is ended,
   * where the runner owns it. Default `limits.controlMsDefault`.
   */
  readonly callMs?: number;
  /**
   * PostgreSQL: the server ends a transaction that gets no statement for so long, also when the connection is half
   * open. A lower setting of the session stays.
   */
  readonly idleMs?: number;
  /**
   * The function may ask the same pool for another connection. With this option the runner never takes the last
   * connection of the pool, where the pool reports its size.
   */
  readonly leavesOne?: boolean;
}

/** The remedy where transactions have all connections of a pool, and wait for one more. */
export const secondConnection =
  "A function that asks the pool for another connection while it has one of the same pool can wait for ever: use the " +
  "transaction that it is handed for all of its queries, or give ichido's option transactions a pool of its own";

/** `giveUp` was called: the function was too slow, and the connection was ended while it ran. */
export class GivenUp extends IchidoError {
  override readonly name: string = "GivenUp";
  constructor() {
    super(
      "transaction-aborted",
      `this transaction was given up while its function ran, and nothing of it is kept. ${secondConnection}`,
    );
  }
}

/** The server itself rolled the transaction back, or allows only ROLLBACK. None of its writes is left. */
export class TransactionAborted extends IchidoError {
  override readonly name: string = "TransactionAborted";
  constructor(cause?: unknown) {
    super(
      "transaction-aborted",
      "the function caught an error of the database and went on, but PostgreSQL undoes the whole transaction after one; let " +
        "the error through, or put a savepoint before what may fail",
      { cause },
    );
  }
}

/** COMMIT was sent, and its answer did not come or was an error: the caller must ask whether it took effect. */
export class CommitFailed extends IchidoError {
  override readonly name: string = "CommitFailed";
  /** The transaction was shared: the function has read uncommitted writes of others, so not even its refusals hold. */
  readonly shared: boolean;
  constructor(message: string, { shared = false, ...options }: ErrorOptions & { readonly shared?: boolean } = {}) {
    super("commit-failed", message, options);
    this.shared = shared;
  }
}
