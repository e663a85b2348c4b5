/** The MariaDB connector (`mariadb`). */
import { handleOf, trusted, type TransactionHandle, type TransactionRunner } from "./handle.ts";
import { queryOf, type MysqlQuery } from "../drivers/mysql/query.ts";
import { mysqlResultOf } from "./results.ts";
import { mysqlValue } from "./values.ts";
import { watchedTransactions } from "./watched-pool.ts";

export interface MariadbConnection {
  query(query: MysqlQuery, values?: unknown[]): Promise<unknown>;
}

export interface MariadbPool<Connection extends MariadbConnection> {
  getConnection(): Promise<Connection & { release(): unknown; destroy(): void }>;
}

/** A connection after `beginTransaction()`. */
export function fromMariadb(connection: MariadbConnection): TransactionHandle {
  return handleOf({
    dialect: "mysql",
    async execute(sql, values) {
      return mysqlResultOf(await connection.query(queryOf(sql), values.map(mysqlValue)));
    },
  });
}

export function mariadbTransactions<Connection extends MariadbConnection>(
  pool: MariadbPool<Connection>,
): TransactionRunner<Connection> {
  return watchedTransactions<Connection & { release(): unknown; destroy(): void }>({
    dialect: "mysql",
    acquire: () => pool.getConnection(),
    statement: (connection, sql) => connection.query(queryOf(sql)),
    giveBack(connection, broken) {
      if (broken) connection.destroy();
      // The transaction is over: what is wrong with the connection shows when it is lent again.
      else Promise.resolve(connection.release()).catch(() => undefined);
    },
    handle: (connection) => trusted(fromMariadb(connection)),
  });
}
