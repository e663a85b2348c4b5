/** What a driver threw, as one of the errors of ichido. Branches on result codes, never on texts. */
import { resultOf } from "../../drivers/sqlite-errors.ts";
import { defect, IchidoError, isDefect, isIchidoError } from "../../core/contract/errors.ts";

/** Whether another call on the same connection could succeed where this error failed one. */
export function isOfOneCall(error: unknown): boolean {
  const result = resultOf(error);
  return (
    result === undefined ||
    result === "SQLITE_FULL" ||
    result === "SQLITE_TOOBIG" ||
    result === "SQLITE_CONSTRAINT" ||
    result === "SQLITE_NOMEM"
  );
}

const advice: Readonly<Record<string, string>> = {
  SQLITE_READONLY: "the file or its folder cannot be written; replays still work. Make it writable for this process",
  SQLITE_IOERR: "reading or writing the file failed; the outcome of this call is not known. Look at the disk",
  SQLITE_CORRUPT: "the file is damaged. Stop writers and restore it from a backup",
  SQLITE_NOTADB: "the file is not a SQLite database. Check the path",
  SQLITE_FULL: "the disk is full; replays still work. Free space or enlarge the disk",
  SQLITE_CANTOPEN: "the file, or the -wal and -shm beside it, cannot be opened. Its folder must exist and be writable",
  SQLITE_TOOBIG: "a value is larger than SQLite accepts",
};

export function failureOf(error: unknown, file: string): IchidoError {
  if (isIchidoError(error)) return error;
  const result = resultOf(error);
  if (result === undefined && isDefect(error)) return defect("SQLite", error);
  const where = file === "" ? "the SQLite database in memory" : `the SQLite file ${file}`;
  const what = advice[result ?? ""] ?? "SQLite refused the call; see the cause";
  return new IchidoError("store-unavailable", `${where}: ${what} (${result ?? "no result code"})`, { cause: error });
}

export function closedHandle(cause: unknown): IchidoError {
  const what = "the handle of the SQLite database was closed; close it after ichido.close()";
  return new IchidoError("store-unavailable", what, { cause });
}

export function lockedFor(lockTimeoutMs: number, file: string, cause: unknown): IchidoError {
  return new IchidoError(
    "store-unavailable",
    `the SQLite file ${file} stayed locked for more than ${lockTimeoutMs} ms, by another connection or by a transaction that is ` +
      "open on the same handle; end write transactions sooner or raise lockTimeoutMs",
    { cause },
  );
}
