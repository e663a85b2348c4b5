/** The business database as a port. SQL is written once, in the common part of three dialects. */
import type { Store } from "ichido";
import type { TransactionHandle, TransactionRunner } from "ichido/transactions";

/** Runs statements: inside a transaction, or each one committed by itself. */
export type Sql = Pick<TransactionHandle, "dialect" | "execute">;

export interface Database {
  /** Every statement commits by itself and sees what is committed. */
  readonly direct: Sql;
  /**
   * What is run may run again, from the start: a deadlock or a serialization failure undoes it and costs nobody an error.
   * Guards hold under read committed as well as under repeatable read, because they decide in conditional writes.
   */
  readonly transactions: TransactionRunner<unknown>;
  /** Idempotency keys in this same database. */
  readonly keyStore: Store & { migrate(): Promise<unknown> };
  /** Runs while no other shop of this database is inside its own. */
  alone(run: (sql: Sql) => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

type Value = string | number | null;
type Query<Result> = (strings: TemplateStringsArray, ...values: readonly Value[]) => Promise<Result>;

export function select<Row>(on: Sql): Query<readonly Row[]> {
  return async (strings, ...values) => (await on.execute(textOf(on, strings), values)).rows as readonly Row[];
}

/** Tells how many rows met the condition. `ending`: what the dialect at hand says differently, after all values. */
export function change(on: Sql, ending = ""): Query<number> {
  return async (strings, ...values) => (await on.execute(`${textOf(on, strings)} ${ending}`, values)).affected;
}

function textOf({ dialect }: Sql, strings: TemplateStringsArray): string {
  return strings.reduce((text, part, index) => `${text}${dialect === "postgres" ? `$${index}` : "?"}${part}`);
}
