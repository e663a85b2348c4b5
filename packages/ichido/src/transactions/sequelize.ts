/** Sequelize 6. */
import { IchidoError } from "../core/errors.ts";
import { aroundLibrary, handleOf, type TransactionHandle, type TransactionRunner } from "./handle.ts";
import { fragmentsOf } from "./placeholders.ts";

export interface SequelizeTransaction {
  commit(): Promise<unknown>;
}

export interface SequelizeDatabase {
  getDialect(): string;
  query(sql: string, options: never): Promise<unknown>;
  transaction(...options: never[]): Promise<unknown>;
}

const dialects: Readonly<Record<string, TransactionHandle["dialect"]>> = {
  postgres: "postgres",
  mysql: "mysql",
  mariadb: "mysql",
};

function dialectOf(name: string): TransactionHandle["dialect"] {
  const dialect = dialects[name];
  if (dialect !== undefined) return dialect;
  throw new IchidoError("option-invalid", `sequelize: expected postgres, mysql or mariadb, got ${name}`);
}

/** The `transaction` of `sequelize.transaction(async (transaction) => …)`. */
export function fromSequelize(sequelize: SequelizeDatabase, transaction: SequelizeTransaction): TransactionHandle {
  const dialect = dialectOf(sequelize.getDialect());
  return handleOf({
    dialect,
    inside: () => {
      // Set once it was committed or rolled back; a query without a transaction would go to the pool.
      const { finished } = Object(transaction) as { readonly finished?: string };
      return typeof transaction?.commit === "function" && finished === undefined ? undefined : false;
    },
    async execute(sql, values) {
      const { texts, values: ordered } = fragmentsOf(dialect, sql, values);
      // Sequelize numbers its places, and takes a doubled dollar for a dollar.
      const text = texts
        .map((each, index) => `${index === 0 ? "" : `$${index}`}${each.replaceAll("$", "$$$$")}`)
        .join("");
      // It does so only where no letter stands before: bodies between $tags$ go through as they are, without values.
      const [rows, metadata] = (await (ordered.length === 0
        ? sequelize.query(sql, { transaction } as never)
        : sequelize.query(text, { bind: ordered, transaction } as never))) as [unknown, unknown];
      const { rowCount, affectedRows } = Object(metadata) as {
        readonly rowCount?: number | null;
        readonly affectedRows?: number;
      };
      const found = Array.isArray(rows) ? (rows as Record<string, unknown>[]) : [];
      return { rows: found, affected: Number(rowCount ?? affectedRows ?? found.length) };
    },
  });
}

/** Name the type of its transactions: `sequelizeTransactions<Transaction>(sequelize)`. */
export function sequelizeTransactions<Tx extends SequelizeTransaction>(
  sequelize: SequelizeDatabase,
): TransactionRunner<Tx> {
  return {
    dialect: dialectOf(sequelize.getDialect()),
    run: (fn) =>
      aroundLibrary(
        (body: (transaction: Tx) => Promise<void>) => sequelize.transaction(body as never),
        (transaction) => fromSequelize(sequelize, transaction),
        fn,
      ),
  };
}
