/** What every handle shares: it proves that it stands inside a transaction, and a lost connection poisons it. */
import { IchidoError } from "../core/errors.ts";
import { columnOf } from "../drivers/row.ts";
import {
  CommitFailed,
  type ExecuteOptions,
  type TransactionHandle,
  type TransactionResult,
  type TransactionRunner,
} from "../core/transaction.ts";

export interface HandleParts {
  readonly dialect: TransactionHandle["dialect"];
  readonly execute: (
    sql: string,
    values: readonly unknown[],
    options?: ExecuteOptions,
  ) => TransactionResult | Promise<TransactionResult>;
  readonly writesAlone?: boolean | undefined;
  /** Whether the connection stands inside a transaction. Absent or undefined: asked of the server, once per handle. */
  readonly inside?: () => boolean | undefined;
}

export function outside(): IchidoError {
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
      const { rows } = await parts.execute(
        "select case when now() < statement_timestamp() then 1 else 0 end as inside",
        [],
      );
      return Number(columnOf(rows[0] ?? {}, "inside")) === 1;
    }
    case "mysql":
      await parts.execute("SAVEPOINT ichido_probe", []);
      try {
        await parts.execute("RELEASE SAVEPOINT ichido_probe", []);
        return true;
      } catch {
        return false;
      }
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
  /** Throws or rejects where it does not. */
  check(): Promise<void> | undefined;
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
    writesAlone: parts.writesAlone,
    check: requireInside,
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
  const { dialect, writesAlone, closeWith } = handle;
  try {
    return await fn({
      dialect,
      writesAlone,
      execute: (sql, values, options) => (over ? Promise.reject(outside()) : handle.execute(sql, values, options)),
      closeWith:
        closeWith &&
        ((sql, values, judge) => {
          if (over) throw outside();
          closeWith(sql, values, judge);
        }),
    });
  } finally {
    over = true;
  }
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

export type { TransactionHandle, TransactionResult, TransactionRunner };
