/**
 * MySQL and MariaDB undo a whole transaction at a deadlock, and commit one at DDL. A body that catches the error and
 * goes on would write in no transaction: each statement commits by itself, and COMMIT does nothing. So a savepoint
 * right after BEGIN shows in the end whether it is still the same transaction; and meanwhile the session does not
 * commit by itself, so that what was written after the end of the first transaction is undone with the second.
 */
import { IchidoError } from "../core/contract/errors.ts";
import { hasNumber, noSuchSavepoint } from "../drivers/mysql/errors.ts";

export type Say = (sql: string) => Promise<unknown>;

function undone(cause: unknown): IchidoError {
  return new IchidoError(
    "transaction-aborted",
    "the transaction was over before its function was: MySQL and MariaDB undo the whole of it at a deadlock, and commit it at " +
      "DDL. Let an error of the database through instead of going on after it, and create tables elsewhere",
    { cause },
  );
}

/** Right after BEGIN. */
export async function watch(say: Say): Promise<void> {
  await say("SET @ichido_autocommit = @@autocommit, autocommit = 0");
  await say("SAVEPOINT ichido_whole");
}

/** Right before COMMIT. */
export async function requireWhole(say: Say): Promise<void> {
  try {
    await say("RELEASE SAVEPOINT ichido_whole");
  } catch (error) {
    throw hasNumber(error, noSuchSavepoint) ? undone(error) : error;
  }
}

/**
 * Sends COMMIT or ROLLBACK, and only then sets the session back: setting `autocommit` back commits an open transaction.
 */
export async function end(word: "COMMIT" | "ROLLBACK", say: Say): Promise<unknown> {
  const answer = await say(word);
  await say("SET autocommit = @ichido_autocommit");
  return answer;
}
