/** Knex. */
import { IchidoError } from "../core/contract/errors.ts";
import { handleOf, type TransactionHandle, type TransactionRunner } from "./handle.ts";
import { libraryTransactions } from "./library.ts";
import { libraryDialect } from "./library-dialect.ts";
import { fragmentsOf } from "./placeholders.ts";
import { resultOf } from "./results.ts";
import { mysqlFragments } from "./values.ts";

export interface KnexTransaction {
  readonly isTransaction?: boolean;
  readonly client: { readonly dialect?: string };
  raw(sql: string, bindings: never): PromiseLike<unknown>;
  isCompleted?(): boolean;
}

export interface KnexDatabase<Tx extends KnexTransaction> {
  readonly client: { readonly dialect?: string };
  transaction(fn: (trx: Tx) => Promise<unknown>): Promise<unknown>;
}

const dialectOf = (client: { readonly dialect?: string }): TransactionHandle["dialect"] =>
  libraryDialect("knex", client.dialect, ["postgres", "mysql", "sqlite"]);

/** The `trx` of `knex.transaction(async (trx) => …)`. */
export function fromKnex(trx: KnexTransaction): TransactionHandle {
  const dialect = dialectOf(trx.client);
  return handleOf({
    dialect,
    inside: () => (trx.isTransaction === true && trx.isCompleted?.() !== true ? undefined : false),
    async execute(sql, values) {
      const { texts, values: ordered } =
        dialect === "mysql" ? mysqlFragments(sql, values) : fragmentsOf(dialect, sql, values);
      // Knex takes every question mark for a place of its own, unless it is escaped; on SQLite the escape itself would stay.
      if (dialect === "sqlite" && texts.some((each) => each.includes("?"))) {
        throw new IchidoError("usage-invalid", "knex cannot send a quoted question mark to SQLite; bind it as a value");
      }
      const text = texts.map((each) => each.replaceAll("?", String.raw`\?`)).join("?");
      return resultOf(dialect, await trx.raw(text, ordered as never));
    },
  });
}

export function knexTransactions<Tx extends KnexTransaction>(knex: KnexDatabase<Tx>): TransactionRunner<Tx> {
  return libraryTransactions<Tx>({
    dialect: dialectOf(knex.client),
    begin: (body) => knex.transaction(body),
    handle: fromKnex,
    pool: knex,
  });
}
