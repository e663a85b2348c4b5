/** TypeORM. */
import { IchidoError } from "../core/contract/errors.ts";
import { handleOf, type TransactionHandle, type TransactionRunner } from "./handle.ts";
import { libraryTransactions } from "./library.ts";
import { libraryDialect } from "./library-dialect.ts";
import { boundBy } from "./values.ts";

interface TypeormRunner {
  readonly isTransactionActive: boolean;
  query(
    sql: string,
    parameters: unknown[],
    useStructuredResult: true,
  ): Promise<{ readonly records: unknown[]; readonly affected?: number; readonly raw: unknown }>;
}

export interface TypeormManager {
  readonly connection: { readonly options: { readonly type: string } };
  readonly queryRunner?: unknown;
}

export interface TypeormDataSource<Manager extends TypeormManager> {
  readonly options: { readonly type: string };
  transaction(fn: (manager: Manager) => Promise<unknown>): Promise<unknown>;
}

const dialectOf = (type: string): TransactionHandle["dialect"] =>
  libraryDialect("dataSource", type, ["postgres", "mysql", "sqlite"]);

/** The `manager` of `dataSource.transaction(async (manager) => …)`, or of a query runner of yours that is in one. */
export function fromTypeorm(manager: TypeormManager): TransactionHandle {
  const runner = manager.queryRunner as TypeormRunner | undefined;
  const dialect = dialectOf(manager.connection.options.type);
  return handleOf({
    dialect,
    inside: () => (runner?.isTransactionActive === true ? undefined : false),
    async execute(text, given) {
      if (runner === undefined)
        throw new IchidoError("usage-invalid", "fromTypeorm takes a manager inside a transaction");
      const { sql, values } = boundBy(dialect, text, given);
      const { records, affected, raw } = await runner.query(sql, values, true);
      const { affectedRows } = Object(raw) as { readonly affectedRows?: number };
      const rows = Array.isArray(records) ? records : [];
      return { rows: rows as Record<string, unknown>[], affected: Number(affected ?? affectedRows ?? rows.length) };
    },
  });
}

export function typeormTransactions<Manager extends TypeormManager>(
  dataSource: TypeormDataSource<Manager>,
): TransactionRunner<Manager> {
  return libraryTransactions<Manager>({
    dialect: dialectOf(dataSource.options.type),
    begin: (body) => dataSource.transaction(body),
    handle: fromTypeorm,
    pool: dataSource,
  });
}
