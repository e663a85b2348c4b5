/** What a driver threw, by SQLSTATE or its absence, never by its message. */
import { errorsIn } from "../../drivers/wrapped-errors.ts";
import { defect, IchidoError, isDefect, isIchidoError, type IchidoErrorCode } from "../../core/contract/errors.ts";

export type FailureKind =
  /** Nothing took effect, and the same statement may well succeed now: serialization failure, deadlock. */
  | "conflict"
  /** Another transaction locks the row for longer than the store waits. */
  | "locked"
  /** The connection was lost or could not be had: whether the statement took effect is not known. */
  | "lost"
  /** No answer in time: whether the statement took effect is not known. */
  | "timeout"
  | "read-only"
  | "schema"
  | "forbidden"
  /** The server refused for another reason (disk full, out of memory). */
  | "refused";

/** The deadline of a call passed before the server answered. */
export class DeadlineError extends Error {
  override readonly name = "DeadlineError";
}

/** How long the server may work on what is waited for so long: its refusal is to be here before the wait ends. */
export function serverMs(waitMs: number): number {
  return Math.max(1, Math.ceil(waitMs * 0.95));
}

/** The session no longer has a statement that was prepared on it, or not as it was: nothing took effect. */
export class StatementForgotten extends Error {
  override readonly name = "StatementForgotten";
}

const byState: Readonly<Record<string, FailureKind>> = {
  "40001": "conflict",
  "40P01": "conflict",
  "55P03": "locked",
  "57014": "timeout",
  "25006": "read-only",
  // Undefined table, column, function, schema; an insufficient list of columns after a rollback of the schema.
  "42P01": "schema",
  "42703": "schema",
  "42883": "schema",
  "3F000": "schema",
  "42501": "forbidden",
};

/** Classes of SQLSTATE that end the session: connection exception, shutdown and crash of the server. */
const lostStates = new Set(["57P01", "57P02", "57P03", "57P05"]);

/** Looks through what ORMs wrap around the driver's error. */
export function sqlStateOf(error: unknown): string | undefined {
  for (const each of errorsIn(error)) {
    const { code } = each;
    // A server's error has a severity; EPIPE would look like a SQLSTATE without this.
    const isServers = "severity" in each || "severity_local" in each;
    if (isServers && typeof code === "string" && /^[0-9A-Z]{5}$/.test(code)) return code;
  }
  return undefined;
}

export function failureKind(error: unknown): FailureKind {
  if (error instanceof DeadlineError) return "timeout";
  if (error instanceof StatementForgotten) return "conflict";
  // A mistake of ours or a damaged row, not a message from the server or the network.
  if (isIchidoError(error) || error instanceof TypeError || error instanceof RangeError) return "refused";
  const state = sqlStateOf(error);
  if (state === undefined) return "lost";
  if (lostStates.has(state) || state.startsWith("08")) return "lost";
  return byState[state] ?? "refused";
}

/** Whether the connection that met this error may serve others. */
export function keepsConnection(error: unknown): boolean {
  if (error instanceof DeadlineError || error instanceof StatementForgotten) return false;
  return failureKind(error) !== "lost";
}

const advice: Readonly<Record<FailureKind, string>> = {
  conflict: "kept colliding with other transactions; raise callTimeoutMs or look for long transactions on its tables",
  locked: "the record is locked by a transaction that does not end; look at pg_locks",
  lost: "the connection was lost or refused; check that the server is up and reachable",
  timeout: "did not answer in time; check its load, the size of the connection pool, or raise callTimeoutMs",
  "read-only": "it is a hot standby or the session is read-only; connect to the primary",
  schema:
    "the tables are missing or outdated, or the connection leads to another database or schema; call `await store.migrate()` (npx ichido migrate) once at deploy",
  forbidden:
    "this role may not do that; grant it select, insert, update and delete on the tables, and for migrate() create on the schema",
  refused: "refused the statement; see the cause",
};

const codes: Partial<Record<FailureKind, IchidoErrorCode>> = { schema: "schema-missing", forbidden: "access-denied" };

export function toIchidoError(error: unknown, verb: string): IchidoError {
  if (isIchidoError(error)) return error;
  if (isDefect(error)) return defect(`PostgreSQL, ${verb}`, error);
  const kind = failureKind(error);
  const state = sqlStateOf(error) ?? codeOf(error);
  return new IchidoError(
    codes[kind] ?? "store-unavailable",
    `PostgreSQL, ${verb}${state === undefined ? "" : ` (${state})`}: ${advice[kind]}`,
    { cause: error },
  );
}

function codeOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}
