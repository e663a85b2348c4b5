/** What a database's error means for a message, looked up by its code, through whatever a library wrapped around it. */
import { IchidoError } from "../core/contract/errors.ts";
import { errorsIn } from "../drivers/wrapped-errors.ts";

export type SqlFailure =
  /** Another transaction holds the row, or the file, for longer than this one waits. */
  | "locked"
  /** The database asks to try the same transaction again. */
  | "again"
  | "duplicate"
  | "no-table"
  /** The server refuses a statement: the connection lives. */
  | "refused";

const byState: Readonly<Record<string, SqlFailure>> = {
  "55P03": "locked",
  "40001": "again",
  "40P01": "again",
  "42P01": "no-table",
  "42883": "no-table",
  "3F000": "no-table",
};
const byNumber: Readonly<Record<number, SqlFailure>> = {
  1205: "locked",
  1213: "again",
  1020: "again",
  1062: "duplicate",
  1146: "no-table",
};

const connectionKilled = 1927;

/** Connection exceptions and shutdowns come with a state, too, but say nothing about the statement. */
const lost = /^(?:08|57P0)/;

/** Undefined: the connection was lost, or there never was one. */
export function failureOf(error: unknown): SqlFailure | undefined {
  for (const each of errorsIn(error)) {
    if (each["errno"] === connectionKilled) return undefined;
    const failure = ownFailure(each);
    if (failure !== undefined) return failure;
  }
  return undefined;
}

function ownFailure(error: Readonly<Record<string, unknown>>): SqlFailure | undefined {
  const { code, errno, errcode, sqlState, fatal, message } = error;
  if (typeof errcode === "number") return ofSqlite(errcode & 0xff, message);
  if (typeof code === "string" && code.startsWith("SQLITE_"))
    return ofSqlite(/^SQLITE_(?:BUSY|LOCKED)/.test(code) ? 5 : 1, message);
  if (typeof errno === "number" && byNumber[errno] !== undefined) return byNumber[errno];
  if (typeof sqlState === "string" && fatal !== true && !lost.test(sqlState)) return "refused";
  if (typeof code === "string" && /^(?=.*\d)[0-9A-Z]{5}$/.test(code) && !lost.test(code))
    return byState[code] ?? "refused";
  return undefined;
}

/** SQLite has no code of its own for a missing table. */
function ofSqlite(primary: number, message: unknown): SqlFailure {
  if (primary === 5 || primary === 6) return "locked";
  return /no such table/.test(String(message)) ? "no-table" : "refused";
}

export function unavailable(what: string, cause: unknown): IchidoError {
  return new IchidoError("store-unavailable", `${what}; the message is to be delivered again`, { cause });
}

export function schemaMissing(cause: unknown): IchidoError {
  return new IchidoError(
    "schema-missing",
    "the tables of the inbox are missing; call inbox.migrate() (npx ichido migrate) once at deploy, or run what inbox.plan() gives with your own tool",
    { cause },
  );
}
