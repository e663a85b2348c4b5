/** Builds the statements of guards, in the dialect of the connection. */
import { IchidoError } from "../core/contract/errors.ts";
import type { TransactionHandle } from "../core/contract/transaction.ts";
import { columnOf } from "../drivers/row.ts";

/** A transaction handle (`fromPg(client)` and its like), or anything that runs a statement on one connection. */
export type GuardExecutor = Pick<TransactionHandle, "dialect" | "execute">;

/** What can stand in a column. `undefined` is refused: it is nearly always a misspelt member. */
export type ColumnValue = string | number | bigint | boolean | null | Date | Uint8Array;
export type Columns = Readonly<Record<string, ColumnValue>>;

const nameForm = /^[A-Za-z_][A-Za-z0-9_$]{0,62}$/;

/** A name as the database stores it, quoted; `schema.table` is quoted part by part. */
export function quotedName(on: GuardExecutor, name: string): string {
  const quote = on.dialect === "mysql" ? "`" : '"';
  return name
    .split(".")
    .map((part) => {
      if (!nameForm.test(part)) {
        throw new IchidoError(
          "usage-invalid",
          `a table or column name must be letters, digits and underscores, got ${JSON.stringify(name)}`,
        );
      }
      return `${quote}${part}${quote}`;
    })
    .join(".");
}

export interface Statement {
  /** Adds a value and returns its placeholder. */
  bind(value: ColumnValue): string;
  name(name: string): string;
  /** `a = $1 AND b = $2` */
  allEqual(columns: Columns): string;
  /** `a = $1, b = $2` */
  assign(columns: Columns): string;
  /** How many rows it changed; more than one is an error, since a key names one row. */
  change(sql: string): Promise<number>;
  /** The column `found` of the one row; undefined where there is none. */
  look(sql: string): Promise<{ readonly found: unknown } | undefined>;
}

export function statementOn(on: GuardExecutor): Statement {
  const values: ColumnValue[] = [];
  const pairs = (columns: Columns, separator: string): string =>
    Object.entries(columns)
      .map(([column, value]) => `${quotedName(on, column)} = ${bind(value)}`)
      .join(separator);

  function bind(value: ColumnValue): string {
    if ((value as unknown) === undefined) {
      throw new IchidoError("usage-invalid", "a guard was given undefined for a column; name a value, or null");
    }
    if (typeof value === "object" && value !== null && !(value instanceof Date || value instanceof Uint8Array)) {
      // A driver may make other SQL from an object, and a value from a caller's JSON may be one until the handler
      // checks it.
      throw new IchidoError(
        "usage-invalid",
        "a guard was given an object or an array for a column; name a single value",
      );
    }
    values.push(value);
    return on.dialect === "postgres" ? `$${values.length}` : "?";
  }

  return {
    bind,
    name: (name) => quotedName(on, name),
    allEqual: (columns) => pairs(columns, " AND "),
    assign: (columns) => pairs(columns, ", "),
    async change(sql) {
      const { affected } = await on.execute(sql, values);
      if (affected > 1) throw severalRows(affected);
      return affected;
    },
    async look(sql) {
      const { rows } = await on.execute(sql, values);
      if (rows.length > 1) throw severalRows(rows.length);
      return rows[0] && { found: columnOf(rows[0], "found") };
    },
  };
}

/** MySQL finds 5 equal to the texts "5", "05" and "5.0". */
function severalRows(count: number): IchidoError {
  return new IchidoError(
    "usage-invalid",
    `a guard's key matched ${count} rows, so it names no single one; give all columns of a unique key, each in its column's ` +
      "own type. Let this error undo the transaction",
  );
}

/**
 * Reads the newest version and locks it until the transaction ends. Without the lock, MySQL could read from its
 * snapshot a version that the conditional write has just found changed. The lock is shared, because on MySQL an insert
 * that met a duplicate already holds a shared lock: two transactions that both wanted an exclusive one would wait for
 * each other. SQLite has one writer, and this transaction is it.
 */
export function locking(on: GuardExecutor): string {
  if (on.dialect === "sqlite") return "";
  return on.dialect === "mysql" ? " LOCK IN SHARE MODE" : " FOR SHARE";
}

export function requireSome(columns: Columns, what: string): void {
  if (Object.keys(columns).length === 0) throw new IchidoError("usage-invalid", `${what}: name at least one column`);
}
