/**
 * The form in which a column stores a value. Columns round numbers and times, pad and strip text, and on MySQL and
 * MariaDB have a character set of their own. A value is compared in that form. On MySQL and MariaDB text is compared by
 * bytes, since collations find "Ann" and "ann " equal.
 */
import { columnOf } from "../drivers/row.ts";
import type { GuardExecutor } from "./statement.ts";

interface ColumnType {
  readonly type: string;
  readonly charset: string;
  readonly digits: number;
  readonly scale: number;
  readonly fraction: number;
  readonly width: number;
}

/** By column names in lower case. Empty for a table that the server does not list, such as a temporary one. */
export type ColumnTypes = ReadonlyMap<string, ColumnType>;

export async function columnTypesOf(on: GuardExecutor, table: string): Promise<ColumnTypes> {
  const [name = "", schema] = table.split(".").toReversed();
  const { rows } = await on.execute(
    "SELECT column_name AS name, data_type AS type, character_set_name AS charset, numeric_precision AS digits, " +
      "numeric_scale AS scale, datetime_precision AS fraction, character_octet_length AS width " +
      `FROM information_schema.columns WHERE table_schema = ${schema === undefined ? "DATABASE()" : "?"} AND table_name = ?`,
    schema === undefined ? [name] : [schema, name],
  );
  return new Map(
    rows.map((row) => {
      const text = (column: string): string => textOf(columnOf(row, column)).toLowerCase();
      const number = (column: string): number => Number(columnOf(row, column) ?? 0);
      return [
        text("name"),
        {
          type: text("type"),
          charset: text("charset"),
          digits: number("digits"),
          scale: number("scale"),
          fraction: number("fraction"),
          width: number("width"),
        },
      ];
    }),
  );
}

/** PostgreSQL: the types of columns with their lengths and precisions, in the server's own words. */
export async function columnFormsOf(on: GuardExecutor, quotedTable: string): Promise<ReadonlyMap<string, string>> {
  const { rows } = await on.execute(
    "SELECT attname AS name, format_type(atttypid, atttypmod) AS form FROM pg_catalog.pg_attribute " +
      "WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped",
    [quotedTable],
  );
  return new Map(rows.map((row) => [String(columnOf(row, "name")), String(columnOf(row, "form"))]));
}

/** `json` keeps the text and knows no equality, so that it is compared as `jsonb`, by its meaning. */
export function sameAsForm(form: string | undefined, name: string, place: string): string {
  if (form === "json") return `${name}::jsonb IS NOT DISTINCT FROM ${place}::jsonb`;
  return `${name} IS NOT DISTINCT FROM ${form === undefined ? place : `CAST(${place} AS ${form})`}`;
}

/** Some servers return names as binary values. */
function textOf(value: unknown): string {
  return value instanceof Uint8Array ? new TextDecoder().decode(value) : `${(value as string | null) ?? ""}`;
}

/** `name` and `place` as they stand in a statement. */
export function sameAsStored(types: ColumnTypes, column: string, name: string, place: string): string {
  const found = types.get(column.toLowerCase());
  return found === undefined ? byBytes(name, place) : comparison(found, name, place);
}

const byBytes = (name: string, place: string): string => `CAST(${name} AS BINARY) <=> CAST(${place} AS BINARY)`;

function comparison(
  { type, charset, digits, scale, fraction, width }: ColumnType,
  name: string,
  place: string,
): string {
  const as = (form: string): string => `${name} <=> CAST(${place} AS ${form})`;
  switch (type) {
    case "char":
      return byBytes(`RTRIM(${name})`, `CONVERT(RTRIM(${place}) USING ${charset})`);
    case "varchar":
    case "tinytext":
    case "text":
    case "mediumtext":
    case "longtext":
      return byBytes(name, `CONVERT(${place} USING ${charset})`);
    case "tinyint":
    case "smallint":
    case "mediumint":
    case "int":
    case "bigint":
      return as("DECIMAL(65,0)");
    case "decimal":
      return as(`DECIMAL(${digits},${scale})`);
    case "float":
      return scale === 0 ? as("FLOAT") : `${name} <=> CAST(ROUND(${place}, ${scale}) AS FLOAT)`;
    case "date":
      return as("DATE");
    case "time":
      return as(`TIME(${fraction})`);
    case "datetime":
    case "timestamp":
      return as(`DATETIME(${fraction})`);
    case "binary":
      return as(`BINARY(${width})`);
    case "json":
      return as("JSON");
    default:
      return `${name} <=> ${place}`;
  }
}
