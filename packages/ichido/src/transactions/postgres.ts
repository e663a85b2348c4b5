/** postgres.js (`postgres`). */
import { handleOf, type TransactionHandle, type TransactionRunner } from "./handle.ts";
import { libraryTransactions } from "./library.ts";
import { withLink, type Link } from "./lost-link.ts";
import { commitByHand, preparesCommit } from "./postgres-js-commit.ts";

export interface PostgresTransaction {
  unsafe(query: string, values?: never[]): Promise<readonly unknown[] & { readonly count?: number | null }>;
}

export interface PostgresSql<Tx extends PostgresTransaction> {
  begin(fn: (tx: Tx) => Promise<unknown>): Promise<unknown>;
}

/** The `sql` that `sql.begin(async (sql) => …)` hands to its function. */
export function fromPostgres(tx: PostgresTransaction): TransactionHandle {
  return handleOf({
    dialect: "postgres",
    async execute(text, values) {
      const rows = await tx.unsafe(text, [...values] as never[]);
      return { rows: rows as unknown as readonly Record<string, unknown>[], affected: rows.count ?? rows.length };
    },
  });
}

type Callable = (...args: unknown[]) => unknown;

/** `sql` is a function with functions on it; a savepoint's function is given another one. */
function guarded<Tx extends object>(tx: Tx, link: Link): Tx {
  function savepoint(...args: unknown[]): Promise<unknown> {
    const fn = args.pop() as (inner: object) => Promise<unknown>;
    const { savepoint: begin } = tx as unknown as { readonly savepoint: (...all: unknown[]) => Promise<unknown> };
    return link.orLost(begin(...args, (inner: object) => link.during(async () => fn(guarded(inner, link)))));
  }
  return new Proxy(tx, {
    apply(target, self, args: unknown[]) {
      link.require();
      return Reflect.apply(target as unknown as Callable, self, args) as unknown;
    },
    get(target, name) {
      link.require();
      return name === "savepoint" ? savepoint : (Reflect.get(target, name) as unknown);
    },
  });
}

export function postgresTransactions<Tx extends PostgresTransaction>(sql: PostgresSql<Tx>): TransactionRunner<Tx> {
  const commit = preparesCommit(sql) ? (tx: Tx) => commitByHand((text) => tx.unsafe(text)) : undefined;
  return libraryTransactions<Tx>({
    dialect: "postgres",
    begin: withLink((body) => sql.begin(body), guarded, commit),
    handle: fromPostgres,
    pool: sql,
  });
}
