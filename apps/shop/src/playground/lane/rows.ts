/** Rows behind events, read right after they were written. What cannot be read is left out: a payment never waits for it. */
import { select, type Sql } from "../../database/database.ts";
import type { Raw, RowShown } from "../contract.ts";

const TEXT_MAX = 2_000;

function textOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

/** Bytes that are text are shown as text. */
function shown(value: unknown): string | number | null {
  if (value === null || value === undefined) return null;
  if (typeof value === "number") return value;
  if (!(value instanceof Uint8Array)) return textOf(value).slice(0, TEXT_MAX);
  const bytes = Buffer.from(value);
  const text = bytes.toString("utf8");
  const isText = Buffer.from(text, "utf8").equals(bytes) && !/\p{Cc}/u.test(text);
  return (isText ? text : bytes.toString("hex")).slice(0, TEXT_MAX);
}

function rawOf(table: string, row: Readonly<Record<string, unknown>> | undefined): Raw | undefined {
  if (row === undefined) return undefined;
  const told = Object.fromEntries(Object.entries(row).map(([name, value]) => [name, shown(value)])) as RowShown;
  return { kind: "row", table, row: told };
}

type Row = Readonly<Record<string, unknown>>;

export async function recordRow(sql: Sql, key: string): Promise<Raw | undefined> {
  const read = select<Row>(sql)`SELECT * FROM ichido_records WHERE key = ${key}`;
  return rawOf("ichido_records", (await read.catch(() => []))[0]);
}

export async function paymentRow(sql: Sql, reference: string): Promise<Raw | undefined> {
  const read = select<Row>(sql)`SELECT * FROM payments WHERE reference = ${reference}`;
  return rawOf("payments", (await read.catch(() => []))[0]);
}
