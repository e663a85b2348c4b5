/**
 * The inbox's statements, with named values. Whole numbers stand in the text, where every dialect takes them, also after
 * LIMIT; texts and bytes always travel as values.
 */
import type { TransactionHandle, TransactionResult } from "../core/transaction.ts";
import { textAndNames } from "../sql/named-values.ts";
import { namedTables } from "../sql/table-prefix.ts";
import { statements as mysql } from "./mysql/statements.generated.ts";
import { statements as postgres } from "./postgres/statements.generated.ts";
import { statements as sqlite } from "./sqlite/statements.generated.ts";
import { statements as portable } from "./statements.generated.ts";

type Dialect = TransactionHandle["dialect"];
export type Verb = keyof typeof portable | keyof typeof postgres;
export type Values = Readonly<Record<string, string | number | Uint8Array>>;

/** Runs one statement of the inbox on a transaction. */
export type Statements = (handle: TransactionHandle, verb: Verb, values?: Values) => Promise<TransactionResult>;

const own: Readonly<Record<Dialect, Readonly<Record<keyof typeof postgres, string>>>> = { mysql, postgres, sqlite };

const clocks: Readonly<Record<Dialect, string>> = {
  postgres: "(extract(epoch from clock_timestamp()) * 1000)::bigint",
  // In UTC: local time has an hour twice a year that means two moments.
  mysql: "(timestampdiff(microsecond, timestamp'1970-01-01 00:00:00', utc_timestamp(3)) div 1000)",
  sqlite: "cast(unixepoch('subsec') * 1000 as integer)",
};

/** The text is always the same for the same numbers: drivers that keep prepared statements find theirs again. */
export function bind(dialect: Dialect, text: string, values: Values): { sql: string; bound: unknown[] } {
  const bound: unknown[] = [];
  const one = (parameter: string): string => {
    const value = values[parameter];
    if (value === undefined) throw new TypeError(`the statement wants a value for ${parameter}`);
    if (typeof value === "number") {
      if (!Number.isSafeInteger(value)) throw new TypeError(`${parameter}: expected a whole number, got ${value}`);
      return String(value);
    }
    // Text is compared with binary columns as the bytes it has in UTF-8, whatever the session's character set.
    const bytes = typeof value !== "string" || dialect === "mysql";
    bound.push(bytes ? Buffer.from(value) : value);
    return dialect === "postgres" ? `$${bound.length}` : "?";
  };
  let sql = "";
  for (const [index, part] of textAndNames(text).entries()) sql += index % 2 === 0 ? part : one(part);
  return { sql, bound };
}

export function createStatements(dialect: Dialect, prefix: string, waitMs: number): Statements {
  // MariaDB alone reads such a comment. MySQL has no way to bound one statement's wait for a lock.
  const wait = `/*M!100112 SET STATEMENT innodb_lock_wait_timeout=${Math.max(1, Math.ceil(waitMs / 1_000))} FOR */`;
  const given: Readonly<Record<Verb, string>> = { ...portable, ...own[dialect] };
  const texts = new Map<Verb, string>();

  /** Made when it is first wanted: no process uses them all. */
  function textOf(verb: Verb): string {
    let text = texts.get(verb);
    if (text !== undefined) return text;
    const plain = given[verb]
      .replace(/^\s*--.*$/gm, "")
      .replaceAll("{now}", clocks[dialect])
      .replace("{wait}", wait);
    text = namedTables(prefix, plain.replace(/\s+/g, " ").trim());
    texts.set(verb, text);
    return text;
  }

  return (handle, verb, values = {}) => {
    const { sql, bound } = bind(dialect, textOf(verb), values);
    return handle.execute(sql, bound, { frequent: verb === "insert" || verb === "find" });
  };
}
