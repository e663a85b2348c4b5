/** mysql2 (promise connections). */
import { handleOf, trusted, type TransactionHandle, type TransactionRunner } from "./handle.ts";
import { queryOf, type MysqlQuery } from "../drivers/mysql/query.ts";
import { resultOf } from "./results.ts";
import { sparing } from "./spare.ts";
import { boundBy } from "./values.ts";
import { watchedTransactions } from "./watched-pool.ts";

export interface Mysql2Connection {
  query(query: MysqlQuery, values?: unknown[]): Promise<readonly [unknown, unknown]>;
}

export interface Mysql2Pool<Connection extends Mysql2Connection> {
  getConnection(): Promise<Connection & { release(): void; destroy(): void }>;
}

/** A connection after `beginTransaction()`. */
export function fromMysql2(connection: Mysql2Connection): TransactionHandle {
  return handleOf({
    dialect: "mysql",
    async execute(text, given) {
      const { sql, values } = boundBy("mysql", text, given);
      return resultOf("mysql", await connection.query(queryOf(sql), values));
    },
  });
}

export function mysql2Transactions<Connection extends Mysql2Connection>(
  pool: Mysql2Pool<Connection>,
): TransactionRunner<Connection> {
  const runner = watchedTransactions<Connection & { release(): void; destroy(): void }>({
    dialect: "mysql",
    acquire: () => pool.getConnection(),
    statement: (connection, sql) => connection.query(queryOf(sql)),
    giveBack: (connection, broken) => (broken ? connection.destroy() : connection.release()),
    handle: (connection) => trusted(fromMysql2(connection)),
  });
  return sparing(runner, pool);
}
