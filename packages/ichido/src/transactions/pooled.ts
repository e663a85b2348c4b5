/**
 * Transactions on connections that a pool lends; where a driver can, BEGIN and COMMIT travel with other statements. A
 * connection that does not answer in time, or whose function is given up, is ended and never lent again: the server may
 * still run what was sent on it, so no other caller may get it.
 */
import { DeadlinesByLength } from "../core/contract/deadlines.ts";
import { limits } from "../core/contract/defaults.ts";
import { systemEnvironment, type Environment } from "../core/contract/environment.ts";
import { IchidoError } from "../core/contract/errors.ts";
import {
  CommitFailed,
  GivenUp,
  type ExecuteOptions,
  type RunOptions,
  type TransactionHandle,
  type TransactionResult,
  type TransactionRunner,
} from "../core/contract/transaction.ts";
import { notInTransaction, type CheckedHandle } from "./handle.ts";
import { noConnection } from "./spare.ts";

/** Sends several statements in one message, where a driver can. */
export interface Pipelining<Connection> {
  readonly begin: (connection: Connection, idleMs: number | undefined) => Promise<unknown>;
  /** BEGIN and the statement; gives what the statement was answered with. */
  readonly open: (
    connection: Connection,
    statement: Statement,
    idleMs: number | undefined,
  ) => Promise<TransactionResult>;
  /**
   * The statements and COMMIT; gives what COMMIT was answered with. Rejects with a `StatementRefused` when the server
   * refused a statement, so that the transaction is open still and can only be rolled back.
   */
  readonly close: (connection: Connection, statements: readonly Statement[]) => Promise<unknown>;
  /** The statement by itself. */
  readonly ask: (connection: Connection, statement: Statement) => Promise<TransactionResult>;
}

export interface Statement extends ExecuteOptions {
  readonly sql: string;
  readonly values: readonly unknown[];
}

export class StatementRefused extends Error {
  override readonly name: string = "StatementRefused";
  /** Which one. */
  readonly place: number;
  constructor(place: number, cause: unknown) {
    super("a statement that came with COMMIT was refused", { cause });
    this.place = place;
  }
}

interface Closing extends Statement {
  readonly judge: ((error: unknown) => unknown) | undefined;
}

export interface PooledParts<Connection> {
  readonly dialect: TransactionHandle["dialect"];
  readonly acquire: () => Promise<Connection>;
  readonly statement: (connection: Connection, sql: string) => Promise<unknown>;
  readonly giveBack: (connection: Connection, broken: boolean) => void;
  readonly handle: (connection: Connection) => TransactionHandle & Partial<CheckedHandle>;
  /** What COMMIT was answered with: throws when that was a rollback. Absent where a server would not do so. */
  readonly requireCommitted?: (result: unknown) => void;
  readonly pipelining?: Pipelining<Connection>;
  /** Timers of its own, for tests that control time. */
  readonly environment?: Environment;
}

/** The statement that came with COMMIT was refused, and everything is rolled back. */
class ClosedByRollback extends Error {
  readonly reason: unknown;
  constructor(reason: unknown) {
    super("the transaction was rolled back");
    this.reason = reason;
  }
}

/** One transaction on a lent connection. Few objects and few promises: every request pays for each of them. */
class PooledTransaction<Connection> {
  broken = false;
  /** The function has ended: later statements would run outside, or inside the transaction of another caller. */
  over = false;
  readonly handle: TransactionHandle;
  readonly #parts: PooledParts<Connection>;
  readonly #deadlines: DeadlinesByLength;
  readonly #connection: Connection;
  readonly #inner: TransactionHandle & Partial<CheckedHandle>;
  #begun = false;
  #underWay = 0;
  readonly #closing: Closing[] = [];
  readonly #callMs: number;
  readonly #idleMs: number | undefined;
  #stop: ((reason: GivenUp) => void) | undefined;

  constructor(
    parts: PooledParts<Connection>,
    deadlines: DeadlinesByLength,
    connection: Connection,
    callMs: number,
    idleMs: number | undefined,
  ) {
    this.#parts = parts;
    this.#deadlines = deadlines;
    this.#connection = connection;
    this.#callMs = callMs;
    this.#idleMs = idleMs;
    this.#inner = parts.handle(connection);
    this.handle = {
      dialect: parts.dialect,
      execute: (sql, values, options) => this.#execute(sql, values, options),
      sendWithCommit:
        parts.pipelining && ((sql, values, judge) => this.#sendWithCommit({ sql, values, judge, frequent: true })),
      giveUp: () => this.#stop?.(new GivenUp()),
    };
  }

  /** The function, until it ends or is given up. */
  async during<Value>(fn: (tx: Connection, handle: TransactionHandle) => Promise<Value>): Promise<Value> {
    try {
      return await new Promise<Value>((resolve, reject) => {
        this.#stop = (reason) => {
          this.broken = true;
          reject(reason);
        };
        fn(this.#connection, this.handle).then(resolve, reject);
      });
    } catch (error) {
      // Before ROLLBACK is sent: what came behind it would commit by itself.
      this.over = true;
      if (!this.broken) await this.rollback().catch(() => undefined);
      throw error;
    } finally {
      this.over = true;
      this.#stop = undefined;
    }
  }

  #execute(sql: string, values: readonly unknown[], options: ExecuteOptions | undefined): Promise<TransactionResult> {
    if (this.over) return Promise.reject(notInTransaction());
    const { pipelining } = this.#parts;
    if (pipelining === undefined) return this.#inner.execute(sql, values, options);
    this.#underWay += 1;
    let answer: Promise<TransactionResult>;
    if (this.#begun) {
      answer = this.#inner.execute(sql, values, options);
    } else {
      // From here on it may have begun: a first statement that fails is followed by ROLLBACK like any other.
      this.#begun = true;
      answer = pipelining.open(this.#connection, { sql, values, frequent: options?.frequent === true }, this.#idleMs);
    }
    answer.then(this.#answered, this.#answered);
    return answer;
  }

  readonly #answered = (): void => {
    this.#underWay -= 1;
  };

  #sendWithCommit(closing: Closing): void {
    if (this.over) throw notInTransaction();
    this.#closing.push(closing);
  }

  async begin(): Promise<void> {
    const { pipelining, statement } = this.#parts;
    await this.#control(pipelining?.begin(this.#connection, this.#idleMs) ?? statement(this.#connection, "BEGIN"));
    this.#begun = true;
  }

  async rollback(): Promise<void> {
    // ROLLBACK would wait behind a statement that is not answered; the end of the connection undoes as well.
    if (this.#underWay > 0) this.broken = true;
    else if (this.#begun) await this.#control(this.#parts.statement(this.#connection, "ROLLBACK"));
  }

  async commit(): Promise<void> {
    if (!this.#begun) {
      if (this.#closing.length === 0) return;
      await this.begin();
    }
    const { requireCommitted, statement, pipelining } = this.#parts;
    const result =
      pipelining === undefined || this.#closing.length === 0
        ? await this.#control(statement(this.#connection, "COMMIT"))
        : await this.#commitWith(pipelining);
    requireCommitted?.(result);
  }

  async #control<Value>(answer: Promise<Value>): Promise<Value> {
    try {
      return await this.#deadlines.bound(this.#callMs, answer);
    } catch (error) {
      this.broken = true;
      throw error;
    }
  }

  async #commitWith(pipelining: Pipelining<Connection>): Promise<unknown> {
    try {
      // The function may have ended the transaction itself, or have caught what broke it.
      const asked = this.#inner.check?.();
      if (asked !== undefined) await asked;
    } catch (error) {
      await this.rollback().catch(() => undefined);
      throw new ClosedByRollback(error);
    }
    try {
      return await this.#deadlines.bound(this.#callMs, pipelining.close(this.#connection, this.#closing));
    } catch (error) {
      if (!(error instanceof StatementRefused)) {
        this.broken = true;
        throw error;
      }
      await this.rollback().catch(() => undefined);
      throw new ClosedByRollback(this.#judged(error));
    }
  }

  #judged({ place, cause }: StatementRefused): unknown {
    return this.#closing[place]?.judge?.(cause) ?? cause;
  }
}

/** Distinguishes a failed commit from a failed body. */
function failureOfCommit(error: unknown): unknown {
  // Known to be undone: the server said so.
  if (error instanceof IchidoError) return error;
  if (error instanceof ClosedByRollback) return error.reason;
  return new CommitFailed("the commit was sent and its answer is an error or was lost", { cause: error });
}

const systemDeadlines = new DeadlinesByLength(systemEnvironment);

function deadlinesOf<Connection>({ environment }: PooledParts<Connection>): DeadlinesByLength {
  return environment === undefined ? systemDeadlines : new DeadlinesByLength(environment);
}

function lend<Connection>(
  parts: PooledParts<Connection>,
  deadlines: DeadlinesByLength,
  callMs: number,
): Promise<Connection> {
  return deadlines
    .bound(callMs, parts.acquire(), { late: (connection) => parts.giveBack(connection, false) })
    .catch((error: unknown) => {
      throw noConnection(callMs, error);
    });
}

/** A runner over a pool that lends connections; one whose BEGIN, COMMIT or ROLLBACK failed is not lent again. */
export function pooledTransactions<Connection>(parts: PooledParts<Connection>): TransactionRunner<Connection> {
  const deadlines = deadlinesOf(parts);
  return {
    dialect: parts.dialect,
    ...(parts.requireCommitted === undefined ? {} : { refusesAborted: true }),
    async run<Value>(
      fn: (tx: Connection, handle: TransactionHandle) => Promise<Value>,
      { opensByHandle = false, callMs = limits.controlMsDefault, idleMs }: RunOptions = {},
    ): Promise<Value> {
      const connection = await lend(parts, deadlines, callMs);
      const transaction = new PooledTransaction(parts, deadlines, connection, callMs, idleMs);
      const waits = parts.pipelining !== undefined && opensByHandle;
      try {
        if (!waits) await transaction.begin();
        const value = await transaction.during(fn);
        try {
          await transaction.commit();
        } catch (error) {
          throw failureOfCommit(error);
        }
        return value;
      } finally {
        parts.giveBack(connection, transaction.broken);
      }
    },
    ...(parts.pipelining && { ask: askOn(parts, parts.pipelining, deadlines) }),
  };
}

function askOn<Connection>(
  parts: PooledParts<Connection>,
  pipelining: Pipelining<Connection>,
  deadlines: DeadlinesByLength,
): NonNullable<TransactionRunner<Connection>["ask"]> {
  const callMs = limits.controlMsDefault;
  return async (sql, values, options) => {
    const connection = await lend(parts, deadlines, callMs);
    let isAnswered = false;
    try {
      const result = await deadlines.bound(callMs, pipelining.ask(connection, { sql, values, ...options }));
      isAnswered = true;
      return result;
    } finally {
      // After an error it may be lost, or not; a new one costs little.
      parts.giveBack(connection, !isAnswered);
    }
  };
}
