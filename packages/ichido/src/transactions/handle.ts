/** What every handle shares: it proves that it stands inside a transaction, and a lost connection poisons it. */
import { IchidoError } from "../core/errors.ts";
import {
  CommitFailed,
  type ExecuteOptions,
  type RunOptions,
  type TransactionHandle,
  type TransactionResult,
  type TransactionRunner,
} from "../core/transaction.ts";

type Dialect = TransactionHandle["dialect"];

export interface HandleParts {
  readonly dialect: Dialect;
  readonly execute: (sql: string, values: readonly unknown[], options?: ExecuteOptions) => Promise<TransactionResult>;
  /** Whether the connection stands inside a transaction. Absent or undefined: asked of the server, once per handle. */
  readonly inside?: () => boolean | undefined;
}

function outside(): IchidoError {
  return new IchidoError(
    "option-invalid",
    "the handle is not inside a transaction: the write would commit by itself. Begin one first and pass the client, trx or " +
      "manager that your code uses inside it",
  );
}

/**
 * In PostgreSQL `now()` is the start of the transaction: outside a block it equals the start of the statement. MySQL
 * forgets a savepoint at once when every statement commits by itself. SQLite refuses a second BEGIN inside a transaction.
 */
async function probe(parts: HandleParts): Promise<boolean> {
  switch (parts.dialect) {
    case "postgres": {
      const { rows } = await parts.execute("select now() < statement_timestamp() as inside", []);
      return rows[0]?.["inside"] === true;
    }
    case "mysql":
      await parts.execute("SAVEPOINT ichido_probe", []);
      return parts.execute("RELEASE SAVEPOINT ichido_probe", []).then(
        () => true,
        () => false,
      );
    case "sqlite":
      try {
        await parts.execute("BEGIN", []);
      } catch {
        return true;
      }
      await parts.execute("ROLLBACK", []);
      return false;
  }
}

/** COMMIT was answered by ROLLBACK. */
export function aborted(cause?: unknown): IchidoError {
  return new IchidoError(
    "option-invalid",
    "the function caught an error of the database and went on, but PostgreSQL undoes the whole transaction after one; let " +
      "the error through, or put a savepoint before what may fail",
    { cause },
  );
}

const constraintPrimary = 19;
const wrapsMax = 4;

/** Looks through what ORMs wrap around the driver's error. */
function isConstraint(error: unknown, depth = 0): boolean {
  if (typeof error !== "object" || error === null || depth > wrapsMax) return false;
  const { sqlState, errcode, code, cause, original, driverError } = error as Readonly<Record<string, unknown>>;
  if (typeof sqlState === "string") return sqlState.startsWith("23");
  if (typeof errcode === "number") return (errcode & 0xff) === constraintPrimary;
  if (typeof code === "string" && code.startsWith("SQLITE_CONSTRAINT")) return true;
  return [cause, original, driverError].some((inner) => isConstraint(inner, depth + 1));
}

/** A handle that can also be asked whether it still stands inside a sound transaction. */
export interface CheckedHandle extends TransactionHandle {
  check(): Promise<void>;
}

export function handleOf(parts: HandleParts): CheckedHandle {
  let checked: Promise<void> | undefined;
  let poison: unknown;

  async function check(): Promise<void> {
    if (!(await probe(parts))) throw outside();
  }

  /** At once where the client itself can tell, and then every time: the transaction may have ended since. */
  function requireInside(): Promise<void> | undefined {
    if (poison !== undefined) throw poison;
    const inside = parts.inside?.();
    if (inside === false) throw outside();
    return inside === undefined ? (checked ??= check()) : undefined;
  }

  return {
    dialect: parts.dialect,
    check: async () => requireInside(),
    async execute(sql, values, options) {
      const asked = requireInside();
      if (asked !== undefined) await asked;
      try {
        return await parts.execute(sql, values, options);
      } catch (error) {
        // A statement that failed may have lost its connection; a driver that reconnects would run the next one outside. A
        // violated constraint is the server's own word: MySQL and SQLite undo that statement and go on.
        if (!isConstraint(error)) poison = error;
        throw error;
      }
    },
  };
}

/** A handle that ends with its function: later statements would run outside, or inside somebody else's transaction. */
export async function whileOpen<Value>(
  handle: TransactionHandle,
  fn: (handle: TransactionHandle) => Promise<Value>,
): Promise<Value> {
  let over = false;
  try {
    const { closeWith } = handle;
    return await fn({
      dialect: handle.dialect,
      execute: (sql, values, options) => (over ? Promise.reject(outside()) : handle.execute(sql, values, options)),
      ...(closeWith && {
        closeWith: (...last: Parameters<typeof closeWith>) => {
          if (over) throw outside();
          closeWith(...last);
        },
      }),
    });
  } finally {
    over = true;
  }
}

/** The statement that came with COMMIT was refused, and everything is rolled back. */
class RolledBack extends Error {
  readonly reason: unknown;
  constructor(reason: unknown) {
    super("the transaction was rolled back");
    this.reason = reason;
  }
}

/** Runs `fn` between BEGIN and COMMIT on one connection; tells a failed commit from a failed body. */
export async function inTransaction<Value>(
  steps: { begin(): Promise<unknown>; commit(): Promise<unknown>; rollback(): Promise<unknown> },
  fn: () => Promise<Value>,
): Promise<Value> {
  await steps.begin();
  let value: Value;
  try {
    value = await fn();
  } catch (error) {
    await steps.rollback().catch(() => undefined);
    throw error;
  }
  try {
    await steps.commit();
  } catch (error) {
    // Known to be undone, by the server's own word.
    if (error instanceof IchidoError) throw error;
    if (error instanceof RolledBack) throw error.reason;
    throw new CommitFailed("the commit was sent and its answer is an error or was lost", { cause: error });
  }
  return value;
}

/** Sends several statements in one message, where a driver can. */
export interface Folding<Connection> {
  readonly begin: (connection: Connection) => Promise<unknown>;
  /** BEGIN and the statement; gives what the statement was answered with. */
  readonly open: (connection: Connection, statement: Statement) => Promise<TransactionResult>;
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
  /** Which one, where that is known. */
  readonly place: number | undefined;
  constructor(place: number | undefined, cause: unknown) {
    super("a statement that came with COMMIT was refused", { cause });
    this.place = place;
  }
}

interface Closing extends Statement {
  readonly judge: ((error: unknown) => unknown) | undefined;
}

export interface PooledParts<Connection> {
  readonly dialect: Dialect;
  readonly acquire: () => Promise<Connection>;
  readonly statement: (connection: Connection, sql: string) => Promise<unknown>;
  readonly giveBack: (connection: Connection, broken: boolean) => void;
  readonly handle: (connection: Connection) => TransactionHandle & Partial<CheckedHandle>;
  /** What COMMIT was answered with: throws when that was a rollback. Absent where a server would not do so. */
  readonly requireCommitted?: (result: unknown) => void;
  readonly folding?: Folding<Connection>;
}

/** One transaction on a lent connection. */
class Lent<Connection> {
  broken = false;
  readonly #parts: PooledParts<Connection>;
  readonly #connection: Connection;
  #begun = false;
  #underWay = 0;
  readonly #closing: Closing[] = [];

  readonly #handle: TransactionHandle & Partial<CheckedHandle>;

  constructor(parts: PooledParts<Connection>, connection: Connection) {
    this.#parts = parts;
    this.#connection = connection;
    this.#handle = parts.handle(connection);
  }

  async #control<Value>(send: () => Promise<Value>): Promise<Value> {
    try {
      return await send();
    } catch (error) {
      this.broken = true;
      throw error;
    }
  }

  async begin(): Promise<void> {
    const { folding, statement } = this.#parts;
    await this.#control(() => folding?.begin(this.#connection) ?? statement(this.#connection, "BEGIN"));
    this.#begun = true;
  }

  async rollback(): Promise<void> {
    // ROLLBACK would wait behind a statement that is not answered; the end of the connection undoes as well.
    if (this.#underWay > 0) this.broken = true;
    else if (this.#begun) await this.#control(() => this.#parts.statement(this.#connection, "ROLLBACK"));
  }

  async commit(): Promise<void> {
    if (!this.#begun) {
      if (this.#closing.length === 0) return;
      await this.begin();
    }
    const { requireCommitted, statement, folding } = this.#parts;
    const result =
      folding === undefined || this.#closing.length === 0
        ? await this.#control(() => statement(this.#connection, "COMMIT"))
        : await this.#commitWith(folding);
    requireCommitted?.(result);
  }

  async #commitWith(folding: Folding<Connection>): Promise<unknown> {
    try {
      // The function may have ended the transaction itself, or have caught what broke it.
      await this.#handle.check?.();
    } catch (error) {
      await this.rollback().catch(() => undefined);
      throw new RolledBack(error);
    }
    try {
      return await folding.close(this.#connection, [...this.#closing]);
    } catch (error) {
      if (!(error instanceof StatementRefused)) {
        this.broken = true;
        throw error;
      }
      await this.rollback().catch(() => undefined);
      throw new RolledBack(this.#judged(error));
    }
  }

  /** Where it is not known which statement it was, whoever recognises the error has it. */
  #judged({ place, cause }: StatementRefused): unknown {
    const judges = place === undefined ? this.#closing : this.#closing.slice(place, place + 1);
    return judges.reduce((error, { judge }) => judge?.(error) ?? error, cause);
  }

  handle(): TransactionHandle {
    const handle = this.#handle;
    const { folding } = this.#parts;
    if (folding === undefined) return handle;
    return {
      dialect: handle.dialect,
      execute: async (sql, values, options) => {
        this.#underWay += 1;
        try {
          if (this.#begun) return await handle.execute(sql, values, options);
          // From here on it may have begun: a first statement that fails is followed by ROLLBACK like any other.
          this.#begun = true;
          return await folding.open(this.#connection, { sql, values, ...options });
        } finally {
          this.#underWay -= 1;
        }
      },
      closeWith: (sql, values, judge) => {
        this.#closing.push({ sql, values, judge, frequent: true });
      },
    };
  }
}

/** A runner over a pool that lends connections; one whose BEGIN, COMMIT or ROLLBACK failed is not lent again. */
export function pooledTransactions<Connection>(parts: PooledParts<Connection>): TransactionRunner<Connection> {
  return {
    dialect: parts.dialect,
    ...(parts.requireCommitted === undefined ? {} : { refusesAborted: true }),
    async run(fn, options?: RunOptions) {
      const connection = await parts.acquire();
      const lent = new Lent(parts, connection);
      const waits = parts.folding !== undefined && options?.opensByHandle === true;
      try {
        return await inTransaction(
          {
            begin: () => (waits ? Promise.resolve() : lent.begin()),
            commit: () => lent.commit(),
            rollback: () => lent.rollback(),
          },
          () => whileOpen(lent.handle(), (handle) => fn(connection, handle)),
        );
      } finally {
        parts.giveBack(connection, lent.broken);
      }
    },
    ...(parts.folding && { ask: askOn(parts, parts.folding) }),
  };
}

function askOn<Connection>(
  parts: PooledParts<Connection>,
  folding: Folding<Connection>,
): NonNullable<TransactionRunner<Connection>["ask"]> {
  return async (sql, values, options) => {
    const connection = await parts.acquire();
    let isAnswered = false;
    try {
      const result = await folding.ask(connection, { sql, values, ...options });
      isAnswered = true;
      return result;
    } finally {
      // After an error it may be lost, or not; a new one costs little.
      parts.giveBack(connection, !isAnswered);
    }
  };
}

/** For libraries with a `transaction(fn)` of their own: whatever fails after `fn` resolved is a failed commit. */
export async function aroundLibrary<Tx, Value>(
  open: (body: (tx: Tx) => Promise<void>) => Promise<unknown>,
  handleFor: (tx: Tx) => TransactionHandle,
  fn: (tx: Tx, handle: TransactionHandle) => Promise<Value>,
): Promise<Value> {
  let done: { readonly value: Value } | undefined;
  try {
    await open(async (tx) => {
      done = { value: await whileOpen(handleFor(tx), (handle) => fn(tx, handle)) };
    });
  } catch (error) {
    if (done === undefined) throw error;
    throw new CommitFailed("the commit was sent and its answer is an error or was lost", { cause: error });
  }
  if (done === undefined) throw new Error("the transaction ended without calling its function");
  return done.value;
}

export type { RunOptions, TransactionHandle, TransactionResult, TransactionRunner };
