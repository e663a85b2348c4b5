/** What drivers answer, in the shape of a handle's result. Libraries hand the driver's own answer through. */
import type { TransactionResult } from "./handle.ts";

type Rows = readonly Readonly<Record<string, unknown>>[];

/** pg: `{ rows, rowCount }`. postgres.js: the rows, with a count. mysql2: `[rows or header, fields]`. SQLite: rows or `{ changes }`. */
export function resultOf(dialect: "postgres" | "mysql" | "sqlite", answer: unknown): TransactionResult {
  if (dialect === "mysql") return mysqlResultOf(Array.isArray(answer) ? (answer as unknown[])[0] : answer);
  if (Array.isArray(answer)) {
    const { count } = answer as { readonly count?: number | null };
    return { rows: answer as Rows, affected: count ?? answer.length };
  }
  const { rows, rowCount, changes } = Object(answer) as {
    readonly rows?: Rows;
    readonly rowCount?: number | null;
    readonly changes?: number | bigint;
  };
  return { rows: rows ?? [], affected: Number(rowCount ?? changes ?? 0) };
}

export function mysqlResultOf(result: unknown): TransactionResult {
  if (Array.isArray(result)) return { rows: result as Rows, affected: 0 };
  const { affectedRows } = Object(result) as { readonly affectedRows?: number | bigint };
  return { rows: [], affected: Number(affectedRows ?? 0) };
}
