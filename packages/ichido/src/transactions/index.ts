/**
 * `ichido/transactions`: join your own transaction. `from…` wraps the client, trx or manager that your code uses inside a
 * transaction; `…Transactions` opens one for `ctx.transaction`. Structural types only: no driver is imported.
 */
export { drizzleTransactions, fromDrizzle } from "./drizzle.ts";
export { fromKnex, knexTransactions } from "./knex.ts";
export { fromKysely, kyselyTransactions } from "./kysely.ts";
export { fromMariadb, mariadbTransactions } from "./mariadb.ts";
export { fromMysql2, mysql2Transactions } from "./mysql2.ts";
export { fromPg, pgTransactions } from "./pg.ts";
export { fromPostgres, postgresTransactions } from "./postgres.ts";
export { fromSequelize, sequelizeTransactions } from "./sequelize.ts";
export {
  betterSqlite3Transactions,
  fromBetterSqlite3,
  fromNodeSqlite,
  nodeSqliteTransactions,
  type BetterSqlite3Database,
  type NodeSqliteDatabase,
  type SqliteTransactionsOptions,
} from "./sqlite.ts";
export { fromTypeorm, typeormTransactions } from "./typeorm.ts";
export {
  CommitFailed,
  type TransactionHandle,
  type TransactionResult,
  type TransactionRunner,
} from "../core/transaction.ts";
