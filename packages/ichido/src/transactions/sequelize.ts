/** Sequelize 6. */
import { handleOf, type TransactionHandle, type TransactionRunner } from "./handle.ts";
import { libraryTransactions } from "./library.ts";
import { libraryDialect } from "./library-dialect.ts";
import { fragmentsOf } from "./placeholders.ts";
import { mysqlValue } from "./values.ts";

export interface SequelizeTransaction {
  commit(): Promise<unknown>;
}

export interface SequelizeDatabase {
  getDialect(): string;
  query(sql: string, options: never): Promise<unknown>;
  transaction(...options: never[]): Promise<unknown>;
}

const dialectOf = (name: string): TransactionHandle["dialect"] =>
  libraryDialect("sequelize", name, ["postgres", "mysql"]);

/** None of the instance's own settings for queries: they change what is answered. */
const raw = { type: "RAW", raw: true, nest: false, plain: false };

/** An INSERT on PostgreSQL answers with the bare number of rows, everything else with an object that has it. */
function affectedOf(metadata: unknown): number | undefined {
  if (typeof metadata === "number") return metadata;
  const { rowCount, affectedRows } = Object(metadata) as {
    readonly rowCount?: number | null;
    readonly affectedRows?: number;
  };
  return rowCount ?? affectedRows;
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
      const { texts, values: given } = fragmentsOf(dialect, sql, values);
      const ordered = dialect === "mysql" ? given.map(mysqlValue) : given;
      // Sequelize numbers its places, and takes a doubled dollar for a dollar.
      const text = texts
        .map((each, index) => `${index === 0 ? "" : `$${index}`}${each.replaceAll("$", "$$$$")}`)
        .join("");
      const options = { transaction, ...raw };
      // It does so only where no letter stands before: bodies between $tags$ go through as they are, without values.
      const [rows, metadata] = (await (ordered.length === 0
        ? sequelize.query(sql, options as never)
        : sequelize.query(text, { bind: ordered, ...options } as never))) as [unknown, unknown];
      const found = Array.isArray(rows) ? (rows as Record<string, unknown>[]) : [];
      return { rows: found, affected: affectedOf(metadata) ?? found.length };
    },
  });
}

/** Name the type of its transactions: `sequelizeTransactions<Transaction>(sequelize)`. */
export function sequelizeTransactions<Tx extends SequelizeTransaction>(
  sequelize: SequelizeDatabase,
): TransactionRunner<Tx> {
  return libraryTransactions<Tx>({
    dialect: dialectOf(sequelize.getDialect()),
    begin: (body) => sequelize.transaction(body as never),
    handle: (transaction) => fromSequelize(sequelize, transaction),
    pool: sequelize,
    // At a deadlock, at once.
    givesBack: true,
  });
}
