/**
 * Drizzle on PostgreSQL and MySQL. Its transactions on better-sqlite3 are synchronous, so no answer could be awaited in
 * them: there, give the connection itself to `fromBetterSqlite3`.
 */
import { IchidoError } from "../core/contract/errors.ts";
import { handleOf, type TransactionHandle, type TransactionRunner } from "./handle.ts";
import { libraryTransactions } from "./library.ts";
import { withLink, type Begin } from "./lost-link.ts";
import { commitByHand, preparesCommit } from "./postgres-js-commit.ts";
import { fragmentsOf } from "./placeholders.ts";
import { resultOf } from "./results.ts";
import { mysqlFragments } from "./values.ts";

export interface DrizzleTransaction {
  execute(query: never): PromiseLike<unknown>;
  rollback(): never;
}

export interface DrizzleDatabase<Tx extends DrizzleTransaction> {
  transaction(fn: (tx: Tx) => Promise<unknown>): Promise<unknown>;
}

/** The `sql` tag of drizzle-orm. */
export type DrizzleSql = (texts: TemplateStringsArray, ...values: unknown[]) => unknown;

/** As Drizzle writes its own columns of time: on postgres.js it turns off what would do so for bare values. */
function drizzleValue(dialect: "postgres" | "mysql", value: unknown): unknown {
  return dialect === "postgres" && value instanceof Date ? value.toISOString() : value;
}

/** The `tx` of `db.transaction(async (tx) => …)`, and drizzle-orm's own `sql`, which makes its queries. */
export function fromDrizzle(tx: DrizzleTransaction, sql: DrizzleSql, dialect: "postgres" | "mysql"): TransactionHandle {
  if (typeof (tx as { rollback?: unknown }).rollback !== "function") {
    throw new IchidoError(
      "usage-invalid",
      "fromDrizzle takes the tx inside db.transaction(async (tx) => …), not the database",
    );
  }
  return handleOf({
    dialect,
    async execute(text, values) {
      const { texts, values: ordered } =
        dialect === "mysql" ? mysqlFragments(text, values) : fragmentsOf(dialect, text, values);
      const query = sql(
        texts as unknown as TemplateStringsArray,
        ...ordered.map((value) => drizzleValue(dialect, value)),
      );
      return resultOf(dialect, await tx.execute(query as never));
    },
  });
}

export function drizzleTransactions<Tx extends DrizzleTransaction>(
  db: DrizzleDatabase<Tx>,
  sql: DrizzleSql,
  dialect: "postgres" | "mysql",
): TransactionRunner<Tx> {
  const begin: Begin<Tx> = (body) => db.transaction(body);
  const { $client: client } = db as { readonly $client?: unknown };
  const say = (tx: Tx, text: string): PromiseLike<unknown> =>
    tx.execute(sql([text] as unknown as TemplateStringsArray) as never);
  const commit = preparesCommit(client) ? (tx: Tx) => commitByHand((text) => say(tx, text)) : undefined;
  return libraryTransactions<Tx>({
    dialect,
    // Older versions of Drizzle do not show whether their driver is postgres.js.
    begin: dialect === "postgres" ? withLink(begin, (tx) => tx, commit) : begin,
    handle: (tx) => fromDrizzle(tx, sql, dialect),
    pool: db,
  });
}
