/** One text for every database: what differs stands in braces, placeholders are `?`. */
import { IchidoError } from "../../../core/errors.ts";
import type { TransactionHandle } from "../../../core/transaction.ts";
import { statements } from "./statements.generated.ts";

export type Dialect = TransactionHandle["dialect"];
export type StatementName = keyof typeof statements;

const parts: Readonly<Record<Dialect, Readonly<Record<string, string>>>> = {
  postgres: {
    now: "cast(extract(epoch from clock_timestamp()) * 1000000 as bigint)",
    name: "varchar(128)",
    text: "text",
    bytes: "bytea",
    engine: "",
    index: "",
    insert: "insert",
    ignore: "on conflict (id) do nothing",
    some: "id in (select id from {table} where ",
    end: ")",
  },
  sqlite: {
    now: "cast((julianday('now') - 2440587.5) * 86400000000 as integer)",
    name: "text",
    text: "text",
    bytes: "blob",
    engine: " without rowid",
    index: "",
    insert: "insert",
    ignore: "on conflict (id) do nothing",
    some: "id in (select id from {table} where ",
    end: ")",
  },
  mysql: {
    now: "timestampdiff(microsecond, '1970-01-01', utc_timestamp(6))",
    // Base64 tells capitals from small letters, and so must the column.
    name: "varchar(128) character set ascii collate ascii_bin",
    text: "longtext character set utf8mb4 collate utf8mb4_bin",
    bytes: "longblob",
    engine: " engine = innodb",
    index: " key (expires_us),",
    insert: "insert ignore",
    ignore: "",
    some: "",
    end: "",
  },
};

export function statementsFor(dialect: Dialect, tablePrefix: string): Readonly<Record<StatementName, string>> {
  if (!/^[a-z_][a-z0-9_]{0,30}$/.test(tablePrefix)) {
    throw new IchidoError(
      "option-invalid",
      `tablePrefix: expected a lower-case letter or underscore, then up to 30 lower-case letters, digits and _; got ${JSON.stringify(tablePrefix)}`,
    );
  }
  const entries = Object.entries(statements).map(([name, text]) => [name, adapt(text, dialect, tablePrefix)]);
  return Object.fromEntries(entries) as Record<StatementName, string>;
}

function adapt(text: string, dialect: Dialect, tablePrefix: string): string {
  let place = 0;
  const filled = text
    .replaceAll(/^--.*\n/gm, "")
    .replaceAll(/\{(\w+)\}/g, (whole, name: string) => parts[dialect][name] ?? whole)
    .replaceAll("{table}", `${tablePrefix}markers`)
    .trim();
  return dialect === "postgres" ? filled.replaceAll("?", () => `$${(place += 1)}`) : filled;
}
