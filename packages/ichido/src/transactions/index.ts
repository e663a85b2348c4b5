/**
 * `ichido/transactions`: join your own transaction. `from…` wraps the client, trx or manager that your code uses inside a
 * transaction; `…Transactions` opens one for `ctx.transaction`. Structural types only: no driver is imported.
 */
export {
  drizzleTransactions,
  fromDrizzle,
  type DrizzleDatabase,
  type DrizzleSql,
  type DrizzleTransaction,
} from "./drizzle.ts";
export { fromKnex, knexTransactions, type KnexDatabase, type KnexTransaction } from "./knex.ts";
export { fromKysely, kyselyTransactions, type KyselyDatabase, type KyselyTransaction } from "./kysely.ts";
export { fromMariadb, mariadbTransactions, type MariadbConnection, type MariadbPool } from "./mariadb.ts";
export { fromMysql2, mysql2Transactions, type Mysql2Connection, type Mysql2Pool } from "./mysql2.ts";
export { fromPg, pgTransactions, type PgConnection, type PgConnectionPool, type PgTransactionsOptions } from "./pg.ts";
export { fromPostgres, postgresTransactions, type PostgresSql, type PostgresTransaction } from "./postgres.ts";
export {
  fromSequelize,
  sequelizeTransactions,
  type SequelizeDatabase,
  type SequelizeTransaction,
} from "./sequelize.ts";
export {
  betterSqlite3Transactions,
  fromBetterSqlite3,
  fromNodeSqlite,
  nodeSqliteTransactions,
  type BetterSqlite3Database,
  type NodeSqliteDatabase,
  type SqliteTransactionsOptions,
} from "./sqlite.ts";
export { fromTypeorm, typeormTransactions, type TypeormDataSource, type TypeormManager } from "./typeorm.ts";
export {
  CommitFailed,
  type ExecuteOptions,
  type TransactionHandle,
  type TransactionResult,
  type TransactionRunner,
} from "../core/contract/transaction.ts";
