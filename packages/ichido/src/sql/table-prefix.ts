/** What every table's name begins with, and how it stands in statements. */
import { IchidoError } from "../core/errors.ts";
import type { TransactionHandle } from "../core/transaction.ts";

export const prefixDefault = "ichido_";
/** 63 bytes for a name of PostgreSQL, less the longest that follows. */
const prefixLengthMax = 30;
const bareForm = /^[a-z_][a-z0-9_]*$/;
const qualifiedForm = /^"?([A-Za-z_][A-Za-z0-9_]{0,62})"?\.([a-z_][a-z0-9_]*)$/;

/** `ichido_`, or on PostgreSQL `"schema".ichido_`, which is what `schema.ichido_` becomes. */
export function checkPrefix(dialect: TransactionHandle["dialect"], prefix: unknown = prefixDefault): string {
  const text = typeof prefix === "string" ? prefix : "";
  const [, schema, bare = text] = (dialect === "postgres" ? qualifiedForm.exec(text) : null) ?? [];
  if (!bareForm.test(bare) || bare.length > prefixLengthMax) {
    throw new IchidoError(
      "option-invalid",
      `prefix: expected lower-case letters, digits and underscores, at most ${prefixLengthMax}` +
        `${dialect === "postgres" ? ", perhaps after a schema and a dot" : ""}; got ${JSON.stringify(prefix)}`,
    );
  }
  return schema === undefined ? bare : `"${schema}".${bare}`;
}

export function schemaOf(prefix: string): string | undefined {
  return /^"(.+)"\./.exec(prefix)?.[1];
}

/** `{prefix}` for tables, `{bare}` for indexes and constraints, which live in the schema of their table. */
export function namedTables(prefix: string, sql: string): string {
  return sql.replaceAll("{prefix}", prefix).replaceAll("{bare}", prefix.replace(/^".+"\./, ""));
}
