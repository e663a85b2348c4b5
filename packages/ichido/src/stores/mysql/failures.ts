/**
 * What the server or the driver said, as errors of ichido. A driver's error quotes statements and values, so it never
 * leaves the store.
 */
import { defect, IchidoError, isDefect, isIchidoError } from "../../core/contract/errors.ts";
import { DeadlineExceeded } from "../../core/contract/deadline.ts";

/** Deadlock, lock wait timeout, and what MariaDB's snapshot isolation says in place of waiting. */
const rollbacks: readonly number[] = [1213, 1205, 1020];
const packetTooLarge = 1153;
/** The server hangs up: shutting down, or the connection was killed. */
const hangUps: readonly number[] = [1053, 1927, 4031];
const schemaErrors: readonly number[] = [1146, 1054, 1051];
const unknownDatabase = 1049;
/** On a database, a table, a column, a routine. */
const accessErrors: readonly number[] = [1044, 1142, 1143, 1370];
const readOnlyErrors: readonly number[] = [1290, 1792, 1836, 3100];

interface DriverError {
  readonly code?: unknown;
  readonly errno?: unknown;
  readonly sqlState?: unknown;
  readonly fatal?: unknown;
}

function partsOf(error: unknown): DriverError {
  return typeof error === "object" && error !== null ? error : {};
}

/** The server undid the statement: sending it again cannot change the answer. */
export function isRolledBack(error: unknown): boolean {
  const { errno } = partsOf(error);
  return typeof errno === "number" && rollbacks.includes(errno);
}

/**
 * Another transaction holds the row. MySQL answers so to a statement that must not wait, MariaDB by the lock wait
 * timeout.
 */
export function isLocked(error: unknown): boolean {
  const { errno } = partsOf(error);
  return errno === 1205 || errno === 3572;
}

/** By the time that the statement was given on the server. */
export function isCutShort(error: unknown): boolean {
  return partsOf(error).errno === 1969;
}

/** The connection must not be used again, or may carry a late answer. */
export function isBroken(error: unknown): boolean {
  if (error instanceof DeadlineExceeded) return true;
  const { fatal, errno, sqlState } = partsOf(error);
  return fatal === true || typeof sqlState !== "string" || typeof errno !== "number" || sqlState.startsWith("08");
}

/** The connection broke: whether the statement took effect is not known. */
export function isLost(error: unknown): boolean {
  const { code, errno, sqlState, fatal } = partsOf(error);
  if (errno === packetTooLarge) return false;
  // mysql2 says no more than this of a connection that had ended before the statement came.
  if (fatal === true && code === undefined && errno === undefined) return true;
  if (typeof errno === "number" && hangUps.includes(errno)) return true;
  if (typeof sqlState === "string" && sqlState.startsWith("08")) return true;
  return typeof code === "string" && /^(PROTOCOL_|ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)/.test(code);
}

export function failureOf(error: unknown): IchidoError {
  if (isIchidoError(error)) return error;
  if (error instanceof DeadlineExceeded) {
    return new IchidoError("store-unavailable", `the MySQL server gave no answer in time (${error.message})`);
  }
  if (isDefect(error)) return defect("MySQL", error);
  const { code, errno, sqlState, fatal } = partsOf(error);
  const what = `${typeof code === "string" ? code : "unknown error"}${typeof errno === "number" ? ` (${errno})` : ""}`;
  const cause = Object.assign(new Error(what), { code, errno, sqlState, fatal });
  if (isCutShort(error)) {
    return new IchidoError("store-unavailable", `the MySQL server gave no answer in time (${what})`, { cause });
  }
  if (errno === unknownDatabase) {
    const advice = "create it, or name another one in the pool's settings";
    return new IchidoError("schema-missing", `the database does not exist: ${what}; ${advice}`, { cause });
  }
  if (typeof errno === "number" && schemaErrors.includes(errno)) {
    return new IchidoError(
      "schema-missing",
      `the tables of ichido are missing or outdated: the server said ${what}; call \`await store.migrate()\` (npx ichido migrate) once at deploy`,
      { cause },
    );
  }
  if (typeof errno === "number" && accessErrors.includes(errno)) {
    const advice = "grant it select, insert, update and delete, and for migrate() create, alter and index";
    return new IchidoError("access-denied", `the account lacks a right: ${what}; ${advice}`, { cause });
  }
  if (typeof errno === "number" && readOnlyErrors.includes(errno)) {
    return new IchidoError("store-unavailable", `the MySQL server is read-only: ${what}; connect to the primary`, {
      cause,
    });
  }
  return new IchidoError("store-unavailable", `the MySQL server could not do what was asked: ${what}`, { cause });
}
