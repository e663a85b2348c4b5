/** What a driver of SQLite threw, by its result code, never by its text. */
/** Primary result codes of SQLite that ask for different things. */
const names: Readonly<Record<number, string>> = {
  1: "SQLITE_ERROR",
  5: "SQLITE_BUSY",
  6: "SQLITE_LOCKED",
  7: "SQLITE_NOMEM",
  8: "SQLITE_READONLY",
  10: "SQLITE_IOERR",
  11: "SQLITE_CORRUPT",
  13: "SQLITE_FULL",
  14: "SQLITE_CANTOPEN",
  15: "SQLITE_PROTOCOL",
  18: "SQLITE_TOOBIG",
  19: "SQLITE_CONSTRAINT",
  23: "SQLITE_AUTH",
  26: "SQLITE_NOTADB",
};

const primaryMask = 0xff;

/** The primary result code by name; undefined for what is no error of SQLite. */
export function resultOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if ("errcode" in error && typeof error.errcode === "number") return names[error.errcode & primaryMask];
  if (!("code" in error) || typeof error.code !== "string") return undefined;
  // better-sqlite3 gives extended names, such as SQLITE_IOERR_FSYNC.
  return /^SQLITE_[A-Z]+/.exec(error.code)?.[0];
}

export function isBusy(error: unknown): boolean {
  const result = resultOf(error);
  return result === "SQLITE_BUSY" || result === "SQLITE_LOCKED" || result === "SQLITE_PROTOCOL";
}
