/** The one shape behind which `node:sqlite` and better-sqlite3 look alike, and the statements prepared on it. */
import { IchidoError } from "../../core/contract/errors.ts";

export type SqliteValue = null | number | bigint | string | Uint8Array;

export interface SqliteStatement {
  get(...values: SqliteValue[]): unknown;
  all(...values: SqliteValue[]): unknown[];
  run(...values: SqliteValue[]): { readonly changes: number | bigint };
}

/** The user's own handle: a `DatabaseSync` of `node:sqlite` or a `Database` of better-sqlite3. */
export interface SqliteDatabase {
  prepare(sql: string): SqliteStatement;
  exec(sql: string): unknown;
  /** `node:sqlite`. One of the two is needed, so that the store never slips into a transaction that is not its own. */
  readonly isTransaction?: boolean;
  /** better-sqlite3. */
  readonly inTransaction?: boolean;
}

export type Row = Readonly<Record<string, unknown>>;

export interface Connection {
  /** The user's own handle. */
  readonly database: object;
  get(sql: string, ...values: SqliteValue[]): Row | undefined;
  all(sql: string, ...values: SqliteValue[]): readonly Row[];
  /** For statements that return no rows: the number of rows changed. */
  run(sql: string, ...values: SqliteValue[]): number;
  /** Several statements, not prepared. */
  exec(sql: string): void;
  readonly inTransaction: boolean;
  /** Of the main database; empty for one in memory. */
  readonly file: string;
}

export function connect(database: SqliteDatabase): Connection {
  if (typeof database?.prepare !== "function" || typeof database.exec !== "function") {
    throw new IchidoError("option-invalid", "database: expected a DatabaseSync of node:sqlite or a better-sqlite3 one");
  }
  if (typeof database.isTransaction !== "boolean" && typeof database.inTransaction !== "boolean") {
    throw new IchidoError(
      "option-invalid",
      "database: neither isTransaction nor inTransaction is there; use node:sqlite of Node 22.16 or newer, or better-sqlite3",
    );
  }
  const prepared = new Map<string, SqliteStatement>();

  function statement(sql: string): SqliteStatement {
    let found = prepared.get(sql);
    if (found === undefined) {
      found = withPlainNumbers(database.prepare(sql));
      prepared.set(sql, found);
    }
    return found;
  }

  return {
    database,
    get: (sql, ...values) => rowOf(statement(sql).get(...values)),
    all: (sql, ...values) =>
      statement(sql)
        .all(...values)
        .filter(isRow),
    run: (sql, ...values) => Number(statement(sql).run(...values).changes),
    exec: (sql) => void database.exec(sql),
    get inTransaction() {
      return database.isTransaction ?? database.inTransaction ?? false;
    },
    file: fileOf(database),
  };
}

/** Read once: error messages name the file also when nothing can be read any more. */
function fileOf(database: SqliteDatabase): string {
  const rows = database.prepare("PRAGMA database_list").all().filter(isRow);
  const file = rows.find((row) => row["name"] === "main")?.["file"];
  return typeof file === "string" ? file : "";
}

/** A handle may be set to answer with bigints; every integer of ours fits a number until the year 2255. */
function withPlainNumbers(statement: SqliteStatement): SqliteStatement {
  const driver: { setReadBigInts?: (on: boolean) => void; safeIntegers?: (on: boolean) => unknown } & SqliteStatement =
    statement;
  driver.setReadBigInts?.(false);
  driver.safeIntegers?.(false);
  return statement;
}

function isRow(value: unknown): value is Row {
  return typeof value === "object" && value !== null;
}

function rowOf(value: unknown): Row | undefined {
  return isRow(value) ? value : undefined;
}
