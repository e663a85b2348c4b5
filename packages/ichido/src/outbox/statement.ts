/**
 * Statements with named values, for any dialect and through any handle. Whole numbers and nulls become part of the text:
 * they need no quoting, and lists of them have no fixed length. Texts and bytes always travel as values.
 */
import type { TransactionHandle, TransactionResult } from "../core/transaction.ts";
import { textAndNames } from "../sql/named-values.ts";
import { namedTables } from "../sql/table-prefix.ts";

type Dialect = TransactionHandle["dialect"];

export type Value = string | number | Uint8Array | null | readonly number[] | readonly string[] | readonly Uint8Array[];
export type Values = Readonly<Record<string, Value>>;

const tokens: Readonly<Record<Dialect, Readonly<Record<string, string>>>> = {
  postgres: {
    // One time for all rows of a statement, as the others have it: a wait that ends between two rows of a key would let
    // the second one pass.
    now: "(extract(epoch from statement_timestamp()) * 1000)::bigint",
    "skip-locked": "for update skip locked",
    "skip-locked-lanes": "for update of l skip locked",
  },
  mysql: {
    // In UTC: local time has an hour twice a year that means two moments.
    now: "(timestampdiff(microsecond, timestamp'1970-01-01 00:00:00', utc_timestamp(3)) div 1000)",
    "skip-locked": "for update skip locked",
    "skip-locked-lanes": "for update skip locked",
  },
  sqlite: { now: "cast(unixepoch('subsec') * 1000 as integer)", "skip-locked": "", "skip-locked-lanes": "" },
};

/** Without comments, with the names of the tables and the clock of the dialect. */
export function prepareText(dialect: Dialect, prefix: string, text: string): string {
  const plain = text.replace(/^\s*--.*$/gm, "").trim();
  return namedTables(prefix, plain).replace(/\{([a-z-]+)\}/g, (_, name: string) => tokens[dialect][name] ?? "");
}

/** No row has such a number or topic: an empty list matches nothing, and its negation everything. */
const nothing = "-1";

function whole(name: string, value: number): string {
  if (!Number.isSafeInteger(value)) throw new TypeError(`${name}: expected a whole number, got ${value}`);
  return value < 0 ? `(${value})` : String(value);
}

function fill(text: string, values: Values, mark: (value: string | Uint8Array) => string): string {
  const one = (name: string): string => {
    const value = values[name];
    if (value === undefined) throw new TypeError(`the statement wants a value for ${name}`);
    if (value === null) return "null";
    if (typeof value === "number") return whole(name, value);
    if (typeof value === "string" || value instanceof Uint8Array) return mark(value);
    if (value.length === 0) return name === "topics" || name === "full_keys" ? "''" : nothing;
    return value.map((each) => (typeof each === "number" ? whole(name, each) : mark(each))).join(", ");
  };
  return textAndNames(text).reduce((sql, part, index) => sql + (index % 2 === 0 ? part : one(part)), "");
}

export function bind(
  dialect: Dialect,
  text: string,
  values: Values,
): { readonly sql: string; readonly bound: readonly unknown[] } {
  const bound: unknown[] = [];
  const sql = fill(text, values, (value) => {
    bound.push(typeof value === "string" ? value : Buffer.from(value.buffer, value.byteOffset, value.byteLength));
    return dialect === "postgres" ? `$${bound.length}` : "?";
  });
  return { sql, bound };
}

interface Fixed {
  readonly sql: string;
  readonly names: readonly string[];
}

const fixed = new Map<string, Fixed>();

/** With a place for every value, numbers and nulls too: always the same text, which can stay prepared. */
function fixedOf(text: string): Fixed {
  let form = fixed.get(text);
  if (form === undefined) {
    const parts = textAndNames(text);
    const names = parts.filter((_, index) => index % 2 === 1);
    const sql = parts.reduce((all, part, index) => all + (index % 2 === 0 ? part : `$${(index + 1) / 2}`), "");
    form = { sql, names };
    fixed.set(text, form);
  }
  return form;
}

function valueOf(values: Values, name: string): unknown {
  const value = values[name];
  if (value === undefined) throw new TypeError(`the statement wants a value for ${name}`);
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value;
}

export interface Execution {
  readonly frequent?: boolean;
  /** In one message with COMMIT, where the handle can do that. */
  readonly atCommit?: boolean;
  /** What the caller is told in place of an error that comes with COMMIT. */
  readonly judge?: (error: unknown) => unknown;
}

const nothingYet: TransactionResult = { rows: [], affected: 0 };

export async function execute(
  handle: TransactionHandle,
  text: string,
  values: Values = {},
  { frequent = false, atCommit = false, judge }: Execution = {},
): Promise<TransactionResult> {
  if (frequent && handle.dialect === "postgres") {
    const form = fixedOf(text);
    const bound = form.names.map((name) => valueOf(values, name));
    if (!atCommit || handle.sendWithCommit === undefined) return handle.execute(form.sql, bound, { frequent });
    // As they are now: the caller may write on into the same bytes.
    handle.sendWithCommit(
      form.sql,
      bound.map((value) => (Buffer.isBuffer(value) ? Buffer.from(value) : value)),
      judge,
    );
    return nothingYet;
  }
  const { sql, bound } = bind(handle.dialect, text, values);
  return handle.execute(sql, bound);
}
