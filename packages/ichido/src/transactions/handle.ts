/** What every handle shares: it proves that it stands inside a transaction, and a lost connection poisons it. */
import { IchidoError } from "../core/errors.ts";
import {
  CommitFailed,
  type TransactionHandle,
  type TransactionResult,
  type TransactionRunner,
} from "../core/transaction.ts";

type Dialect = TransactionHandle["dialect"];

export interface HandleParts {
  readonly dialect: Dialect;
  readonly execute: (sql: string, values: readonly unknown[]) => Promise<TransactionResult>;
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

export function handleOf(parts: HandleParts): TransactionHandle {
  let checked: Promise<void> | undefined;
  let poison: unknown;

  async function check(): Promise<void> {
    if (!(await probe(parts))) throw outside();
  }

  return {
    dialect: parts.dialect,
    async execute(sql, values) {
      if (poison !== undefined) throw poison;
      // Where the client itself can tell, every time: the transaction may have ended since.
      const inside = parts.inside?.();
      if (inside === false) throw outside();
      if (inside === undefined) await (checked ??= check());
      try {
        return await parts.execute(sql, values);
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
    return await fn({
      dialect: handle.dialect,
      execute: (sql, values) => (over ? Promise.reject(outside()) : handle.execute(sql, values)),
    });
  } finally {
    over = true;
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
    throw new CommitFailed("the commit was sent and its answer is an error or was lost", { cause: error });
  }
  return value;
}

/** A runner over a pool that lends connections; one whose BEGIN, COMMIT or ROLLBACK failed is not lent again. */
export function pooledTransactions<Connection>(parts: {
  readonly dialect: Dialect;
  readonly acquire: () => Promise<Connection>;
  readonly statement: (connection: Connection, sql: string) => Promise<unknown>;
  readonly giveBack: (connection: Connection, broken: boolean) => void;
  readonly handle: (connection: Connection) => TransactionHandle;
  /** What COMMIT was answered with: throws when that was a rollback. Absent where a server would not do so. */
  readonly requireCommitted?: (result: unknown) => void;
  /** Sends BEGIN and the statement at once, and gives what the statement was answered with. */
  readonly open?: (connection: Connection, sql: string) => Promise<TransactionResult>;
}): TransactionRunner<Connection> {
  const { open } = parts;

  async function within<Value>(
    opening: string | undefined,
    fn: (connection: Connection, handle: TransactionHandle, opened: TransactionResult) => Promise<Value>,
  ): Promise<Value> {
    const connection = await parts.acquire();
    let broken = false;
    const statement = async (sql: string): Promise<unknown> => {
      try {
        return await parts.statement(connection, sql);
      } catch (error) {
        broken = true;
        throw error;
      }
    };
    const isOpened = open !== undefined && opening !== undefined;
    try {
      return await inTransaction(
        {
          begin: () => (isOpened ? Promise.resolve() : statement("BEGIN")),
          commit: async () => {
            const result = await statement("COMMIT");
            parts.requireCommitted?.(result);
          },
          rollback: () => statement("ROLLBACK"),
        },
        async () => {
          // Inside the body, so that a first statement that fails is followed by ROLLBACK like any other.
          const opened = isOpened ? await open(connection, opening) : nothingOpened;
          return whileOpen(parts.handle(connection), (handle) => fn(connection, handle, opened));
        },
      );
    } finally {
      parts.giveBack(connection, broken);
    }
  }

  return {
    dialect: parts.dialect,
    ...(parts.requireCommitted === undefined ? {} : { refusesAborted: true }),
    run: (fn) => within(undefined, (connection, handle) => fn(connection, handle)),
    ...(open === undefined ? {} : { runOpening: within }),
  };
}

const nothingOpened: TransactionResult = { rows: [], affected: 0 };

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

export type { TransactionHandle, TransactionResult, TransactionRunner };
