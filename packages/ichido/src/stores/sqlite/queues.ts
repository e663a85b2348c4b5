/** The two queues of a handle: one for records, which must be there, and one for migrations, which make them. */
import { isIchidoError } from "../../core/contract/errors.ts";
import type { Connection, SqliteDatabase } from "./database.ts";
import { ensureDurability } from "./durability.ts";
import { resultOf } from "../../drivers/sqlite-errors.ts";
import { closedHandle } from "./failures.ts";
import type { resolveOptions } from "./options.ts";
import { createWriteQueue } from "./write-queue.ts";

export function createQueues(
  database: SqliteDatabase,
  connection: Connection,
  { synchronous, lockTimeoutMs, queueMax }: ReturnType<typeof resolveOptions>,
  requireTables: () => void,
) {
  const given = { connection, lockTimeoutMs, queueMax };
  let durable = false;
  let schema = false;

  const queue = createWriteQueue({
    ...given,
    isReady: () => schema,
    prepare() {
      if (!durable) ensureDurability(connection, synchronous);
      durable = true;
      requireTables();
      schema = true;
    },
    explain(error) {
      if (isClosed(database)) return closedHandle(error);
      if (resultOf(error) !== "SQLITE_ERROR") return error;
      try {
        requireTables();
      } catch (better) {
        schema = false;
        if (isIchidoError(better)) return better;
      }
      return error;
    },
  });
  /** Works on what is not ready yet. */
  const bare = createWriteQueue({
    ...given,
    isReady: () => durable,
    prepare() {
      ensureDurability(connection, synchronous);
      durable = true;
    },
    explain: (error) => (isClosed(database) ? closedHandle(error) : error),
  });
  return {
    queue,
    bare,
    /** The handle is the user's: what they set on it since is looked at again. */
    lookAgain: () => {
      durable = false;
      schema = false;
    },
  };
}

/** better-sqlite3 throws a TypeError then, which would look like a mistake of ours. */
function isClosed(database: SqliteDatabase): boolean {
  const { isOpen, open } = database as { readonly isOpen?: unknown; readonly open?: unknown };
  return isOpen === false || open === false;
}
