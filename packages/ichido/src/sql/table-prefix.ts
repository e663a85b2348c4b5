/** What every table's name begins with, and how it stands in statements. */
import { optionInvalid } from "../core/contract/option-checks.ts";
import { optional, orElse } from "../core/contract/read-options.ts";
import type { TransactionHandle } from "../core/contract/transaction.ts";

export interface TableOptions {
  /** Begins the name of every table. Default `ichido_`. */
  readonly tablePrefix?: string;
  /** PostgreSQL: the schema of the tables. Default: whatever the session's `search_path` finds. */
  readonly schema?: string;
}

export const prefixDefault = "ichido_";
/** 63 bytes for a name of PostgreSQL, less the longest that follows. */
const prefixLengthMax = 30;
const identifierLengthMax = 63;

/** Lower case only: what needs no quotes cannot be mistaken with and without them. */
const identifier =
  (lengthMax: number) =>
  (option: string, value: unknown): string => {
    if (typeof value === "string" && value.length <= lengthMax && /^[a-z_][a-z0-9_]*$/.test(value)) return value;
    const expected = `lower-case letters, digits and _, not beginning with a digit, at most ${lengthMax} characters`;
    throw optionInvalid(option, expected, value);
  };

export const tableOptions = {
  tablePrefix: orElse(prefixDefault, identifier(prefixLengthMax)),
  schema: optional(identifier(identifierLengthMax)),
};

/** `ichido_`, or with a schema `"schema".ichido_`. */
export function checkPrefix(dialect: TransactionHandle["dialect"], tablePrefix?: unknown, schema?: unknown): string {
  const prefix = tableOptions.tablePrefix("tablePrefix", tablePrefix, {});
  if (schema === undefined) return prefix;
  if (dialect !== "postgres")
    throw optionInvalid("schema", `none: only PostgreSQL has schemas, and this is ${dialect}`, schema);
  return `"${tableOptions.schema("schema", schema, {})}".${prefix}`;
}

export function schemaOf(prefix: string): string | undefined {
  return /^"(.+)"\./.exec(prefix)?.[1];
}

/** `{prefix}` for tables, `{bare}` for indexes and constraints, which live in the schema of their table. */
export function namedTables(prefix: string, sql: string): string {
  return sql.replaceAll("{prefix}", prefix).replaceAll("{bare}", bareOf(prefix));
}

export function bareOf(prefix: string): string {
  return prefix.replace(/^".+"\./, "");
}
