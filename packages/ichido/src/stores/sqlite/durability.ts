/** The settings on which the store's promise rests, set where they are weaker and read back. */
import { IchidoError } from "../../core/contract/errors.ts";
import type { Connection } from "./database.ts";
import { isBusy } from "../../drivers/sqlite-errors.ts";

export type Synchronous = "full" | "extra" | "normal";

const levels: Readonly<Record<Synchronous, number>> = { normal: 1, full: 2, extra: 3 };

function pragma(connection: Connection, name: string): unknown {
  const row = connection.get(`PRAGMA ${name}`);
  return row === undefined ? undefined : Object.values(row)[0];
}

/** Not inside a transaction: SQLite changes neither setting there. */
export function ensureDurability(connection: Connection, synchronous: Synchronous): void {
  if (connection.file !== "") ensureWal(connection);
  const wanted = levels[synchronous];
  const found = pragma(connection, "synchronous");
  const level = synchronous === "normal" || typeof found !== "number" ? wanted : Math.max(found, wanted);
  // Always set, even to what was found: some builds lower a level that was never set, once the log is opened.
  connection.exec(`PRAGMA synchronous = ${level}`);
  // Where the system distinguishes "written" from "on the disk" (macOS), ask for the latter; no change elsewhere.
  if (synchronous !== "normal") connection.exec("PRAGMA fullfsync = ON");
  const now = pragma(connection, "synchronous");
  if (now !== level) {
    throw new IchidoError("store-unavailable", `SQLite keeps synchronous at ${String(now)}, ichido needs ${level}`);
  }
}

/** With a rollback journal a reader would block the completion of others. The mode stays with the file. */
function ensureWal(connection: Connection): void {
  if (pragma(connection, "journal_mode") === "wal") return;
  const mode = pragma(connection, "journal_mode = WAL");
  if (mode !== "wal") {
    throw new IchidoError(
      "store-unavailable",
      `the SQLite file ${connection.file} cannot use a write-ahead log (mode ${String(mode)}); put it on a local disk`,
    );
  }
}

/** No single wait inside SQLite may hold up the event loop longer: heartbeats run on it. */
export const busyTimeoutMs = 25;
const busyTimeoutMsMax = 50;

/**
 * Runs `action` with a short lock wait. The handle is the user's: a longer wait that they chose for their own
 * statements is put back afterwards. A handle that is set not to wait stays so until it meets a lock.
 */
export function withShortWait<T>(connection: Connection, action: () => T): T {
  const own = pragma(connection, "busy_timeout");
  if (typeof own === "number" && own > 0 && own <= busyTimeoutMsMax) return action();
  if (own === 0) {
    try {
      return action();
    } catch (error) {
      if (!isBusy(error)) throw error;
    }
  }
  connection.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
  try {
    return action();
  } finally {
    connection.exec(`PRAGMA busy_timeout = ${typeof own === "number" ? own : 0}`);
  }
}

/**
 * Transactions whose commit does not wait for the disk: it is in the log, which the next commit that does wait takes
 * along. Only a crash of the whole machine before that loses it.
 */
export interface RelaxedSync {
  /** Before a transaction that may be lost. */
  begin(): void;
  /**
   * After it, and before any that must not be lost: the level is still low where the former transaction could not be
   * ended.
   */
  end(): void;
}

export function createRelaxedSync(connection: Connection): RelaxedSync {
  let owed: number | undefined;
  /** Where the level once could not be put back, it is not lowered again. */
  let isTrusted = true;

  function end(): void {
    if (owed === undefined) return;
    try {
      // Inside a transaction SQLite refuses it.
      connection.exec(`PRAGMA synchronous = ${owed}`);
    } catch (error) {
      isTrusted = false;
      throw error;
    }
    owed = undefined;
  }

  return {
    begin() {
      end();
      if (!isTrusted || connection.file === "") return;
      const own = pragma(connection, "synchronous");
      if (typeof own !== "number" || own <= levels.normal) return;
      owed = own;
      connection.exec(`PRAGMA synchronous = ${levels.normal}`);
    },
    end,
  };
}
