/** Kysely. */
import { handleOf, type TransactionHandle, type TransactionRunner } from "./handle.ts";
import { libraryTransactions } from "./library.ts";
import { boundBy } from "./values.ts";

interface KyselyQuery {
  readonly query: { readonly kind: "RawNode"; readonly sqlFragments: readonly string[]; readonly parameters: [] };
  readonly queryId: { readonly queryId: string };
  readonly sql: string;
  readonly parameters: readonly unknown[];
}

export interface KyselyTransaction {
  readonly isTransaction: boolean;
  executeQuery(query: never): Promise<{ readonly rows: readonly unknown[]; readonly numAffectedRows?: bigint }>;
  withoutPlugins(): unknown;
}

export interface KyselyDatabase<Tx extends KyselyTransaction> {
  transaction(): { execute(fn: (trx: Tx) => Promise<unknown>): Promise<unknown> };
}

/** The `trx` of `db.transaction().execute(async (trx) => …)`. Kysely does not show its dialect, so you name it. */
export function fromKysely(trx: KyselyTransaction, dialect: TransactionHandle["dialect"]): TransactionHandle {
  // A plugin may rename columns; these statements are not its business.
  const plain = trx.withoutPlugins() as KyselyTransaction;
  return handleOf({
    dialect,
    inside: () => (trx.isTransaction ? undefined : false),
    async execute(text, given) {
      const { sql, values: parameters } = boundBy(dialect, text, given);
      const query: KyselyQuery = {
        query: { kind: "RawNode", sqlFragments: [sql], parameters: [] },
        queryId: { queryId: "ichido" },
        sql,
        parameters,
      };
      const { rows, numAffectedRows } = await plain.executeQuery(query as never);
      return { rows: rows as Record<string, unknown>[], affected: Number(numAffectedRows ?? rows.length) };
    },
  });
}

export function kyselyTransactions<Tx extends KyselyTransaction>(
  db: KyselyDatabase<Tx>,
  dialect: TransactionHandle["dialect"],
): TransactionRunner<Tx> {
  return libraryTransactions<Tx>({
    dialect,
    begin: (body) => db.transaction().execute(body),
    handle: (trx) => fromKysely(trx, dialect),
  });
}
