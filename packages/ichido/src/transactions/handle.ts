/** What every handle shares: it proves that it stands inside a transaction, and a lost connection poisons it. */
import { DeadlinesByLength } from "../core/contract/deadlines.ts";
import { limits } from "../core/contract/defaults.ts";
import { systemEnvironment } from "../core/contract/environment.ts";
import { IchidoError } from "../core/contract/errors.ts";
import { columnOf } from "../drivers/row.ts";
import { errorsIn } from "../drivers/wrapped-errors.ts";
import { end, requireWhole, watch } from "./whole.ts";
import { idleTimeout } from "./idle-timeout.ts";
import { noConnection } from "./spare.ts";
import {
  CommitFailed,
  TransactionAborted,
  type ExecuteOptions,
  type RunOptions,
  type TransactionHandle,
  type TransactionResult,
  type TransactionRunner,
} from "../core/contract/transaction.ts";

export interface HandleParts {
  readonly dialect: TransactionHandle["dialect"];
  readonly execute: (
    sql: string,
    values: readonly unknown[],
    options?: ExecuteOptions,
  ) => TransactionResult | Promise<TransactionResult>;
  readonly writesAlone?: boolean | undefined;
  /**
   * Whether the connection stands inside a transaction. Absent or undefined: the server is asked, before every
   * statement where it may end a transaction by itself, once where not.
   */
  readonly inside?: () => boolean | undefined;
}

export function notInTransaction(): IchidoError {
  return new IchidoError(
    "usage-invalid",
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
        "select case when now() <> statement_timestamp() then 1 else 0 end as inside",
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
export function aborted(cause?: unknown): TransactionAborted {
  return new TransactionAborted(cause);
}

const constraintPrimary = 19;
/** Of PostgreSQL: the connection is lost, or the server ends it. */
const ended = /^(?:08|57P0)/;

/**
 * The server's own word, after which the transaction may go on: any error of PostgreSQL, which refuses the rest by itself
 * until it is rolled back to a savepoint; a violated constraint on MySQL and SQLite, which undo that statement alone. Looks
 * through what ORMs wrap around the driver's error.
 */
function isAnswer(error: unknown): boolean {
  for (const { sqlState, errcode, code, severity } of errorsIn(error)) {
    if (typeof severity === "string" && typeof code === "string") return !ended.test(code);
    if (typeof sqlState === "string") return sqlState.startsWith("23");
    if (typeof errcode === "number") return (errcode & 0xff) === constraintPrimary;
    if (typeof code === "string" && code.startsWith("SQLITE_CONSTRAINT")) return true;
  }
  return false;
}

/** A handle that can also be asked whether it still stands inside a sound transaction. */
export interface CheckedHandle extends TransactionHandle {
  /** Throws or rejects where it does not. */
  check(): Promise<void> | undefined;
  /** From now on the server is not asked: the runner that opened the transaction watches over it. */
  trust(): void;
  /** As it is: neither checked before nor remembered when it fails. */
  say(sql: string): Promise<unknown>;
}

/** Of what the `from…` functions give, whose public type is the plain one. */
function checked(handle: TransactionHandle): CheckedHandle {
  return handle as CheckedHandle;
}

/** For runners that send BEGIN themselves. */
export function trusted(handle: TransactionHandle): TransactionHandle {
  checked(handle).trust();
  return handle;
}

export function handleOf(parts: HandleParts): CheckedHandle {
  let asked: Promise<void> | undefined;
  let isTrusted = false;
  let poison: unknown;

  async function check(before?: Promise<void>): Promise<void> {
    // One at a time: a savepoint that is released takes those with it that were set after it.
    await before?.catch(() => undefined);
    if (!(await probe(parts))) throw notInTransaction();
  }

  /** Not remembered: a transaction that failed may be rolled back to a savepoint, and go on. */
  async function checkOnce(): Promise<void> {
    try {
      await check();
    } catch (error) {
      asked = undefined;
      throw error;
    }
  }

  /** PostgreSQL refuses everything after an error by itself. */
  function ask(): Promise<void> {
    if (parts.dialect !== "postgres") asked = check(asked);
    return (asked ??= checkOnce());
  }

  /** At once where the client itself knows, and then every time: the transaction may have ended since. */
  function requireInside(): Promise<void> | undefined {
    if (poison !== undefined) throw poison;
    const inside = parts.inside?.();
    if (inside === false) throw notInTransaction();
    return inside === undefined && !isTrusted ? ask() : undefined;
  }

  return {
    dialect: parts.dialect,
    writesAlone: parts.writesAlone,
    check: requireInside,
    trust() {
      isTrusted = true;
    },
    say: async (sql) => parts.execute(sql, []),
    async execute(sql, values, options) {
      const checking = requireInside();
      if (checking !== undefined) await checking;
      try {
        return await parts.execute(sql, values, options);
      } catch (error) {
        // A statement that failed may have lost its connection; a driver that reconnects would run the next one outside.
        if (!isAnswer(error)) poison = error;
        throw error;
      }
    },
  };
}

/**
 * A handle that ends with its function: later statements would run outside, or inside the transaction of another
 * caller.
 */
export async function whileOpen<Value>(
  handle: TransactionHandle,
  fn: (handle: TransactionHandle) => Promise<Value>,
  hasEnded: () => boolean = () => false,
): Promise<Value> {
  let over = false;
  const { dialect, writesAlone, sendWithCommit } = handle;
  try {
    return await fn({
      dialect,
      writesAlone,
      execute: (sql, values, options) =>
        over || hasEnded() ? Promise.reject(notInTransaction()) : handle.execute(sql, values, options),
      sendWithCommit:
        sendWithCommit &&
        ((sql, values, judge) => {
          if (over) throw notInTransaction();
          sendWithCommit(sql, values, judge);
        }),
    });
  } finally {
    over = true;
  }
}

export interface LibraryOptions extends RunOptions {
  /** The library gives a connection back by itself, in the middle of a transaction: nothing may be set on it. */
  readonly givesBack?: boolean;
}

const commitLost = "the commit was sent and its answer is an error or was lost";

/** On MySQL and MariaDB: COMMIT is sent here, and the library's own has nothing left to do. */
async function watched<Value>(
  { say }: Pick<CheckedHandle, "say">,
  callMs: number,
  run: () => Promise<Value>,
): Promise<Value> {
  let value: Value;
  try {
    await watch(say);
    value = await run();
    await requireWhole(say);
  } catch (error) {
    await deadlines.bound(callMs, end("ROLLBACK", say)).catch(() => undefined);
    throw error;
  }
  try {
    await deadlines.bound(callMs, end("COMMIT", say));
  } catch (cause) {
    throw new CommitFailed(commitLost, { cause });
  }
  return value;
}

/** Runs the function between the library's own BEGIN and COMMIT, and sees in the end that it was one transaction. */
async function within<Tx, Value>(
  handle: CheckedHandle,
  tx: Tx,
  fn: (tx: Tx, handle: TransactionHandle) => Promise<Value>,
  { givesBack = false, unwatched = false, callMs = limits.controlMsDefault, idleMs }: LibraryOptions,
  hasEnded: () => boolean,
): Promise<Value> {
  if (idleMs !== undefined && handle.dialect === "postgres") await handle.execute(idleTimeout, [String(idleMs)]);
  const run = (): Promise<Value> => whileOpen(handle, (open) => fn(tx, open), hasEnded);
  const isWatched = handle.dialect === "mysql" && !givesBack && !unwatched;
  if (isWatched || unwatched) handle.trust();
  if (isWatched) return watched(handle, callMs, run);
  const value = await run();
  // PostgreSQL ends no transaction by itself.
  if (handle.dialect !== "postgres") await handle.check();
  return value;
}

/**
 * For libraries with a `transaction(fn)` of their own: whatever fails after `fn` resolved is a failed commit. The
 * library keeps the connection: one that does not answer in time is waited for no longer, but cannot be taken away from
 * the library.
 */
export async function aroundLibrary<Tx, Value>(
  open: (body: (tx: Tx) => Promise<void>) => Promise<unknown>,
  handleFor: (tx: Tx) => TransactionHandle,
  fn: (tx: Tx, handle: TransactionHandle) => Promise<Value>,
  options: LibraryOptions = {},
): Promise<Value> {
  const { callMs = limits.controlMsDefault } = options;
  let outcome: { readonly value: Value } | { readonly error: unknown } | undefined;
  let isLate = false;
  /** The library may have ended the transaction under the function, as where its connection was lost. */
  let hasEnded = false;
  const begun = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  const whole = open(async (tx) => {
    if (isLate) throw new Error("the connection came too late, and nobody waits for it");
    begun.resolve();
    try {
      outcome = { value: await within(checked(handleFor(tx)), tx, fn, options, () => hasEnded) };
    } catch (error) {
      outcome = { error };
      throw error;
    } finally {
      ended.resolve();
    }
  });
  whole.catch(() => {
    hasEnded = true;
  });
  try {
    await deadlines.bound(callMs, Promise.race([begun.promise, whole]));
  } catch (error) {
    isLate = true;
    throw noConnection(callMs, error);
  }
  // However long it takes: what the library rolled back under a running function would be written outside.
  await Promise.race([ended.promise, whole.catch(() => undefined)]);
  try {
    await deadlines.bound(callMs, whole);
  } catch (error) {
    if (outcome === undefined) throw error;
    // Not what the library makes of it: its own ROLLBACK may fail, too, and say less.
    if ("error" in outcome) throw outcome.error;
    throw new CommitFailed(commitLost, { cause: error });
  }
  if (outcome === undefined || "error" in outcome) {
    throw new IchidoError("transaction-aborted", "the transaction ended without calling its function");
  }
  return outcome.value;
}

const deadlines = new DeadlinesByLength(systemEnvironment);

export type { TransactionHandle, TransactionResult, TransactionRunner };
