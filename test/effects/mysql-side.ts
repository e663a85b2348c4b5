import { mysqlStore } from "ichido/mysql";
import { mysql2Transactions } from "ichido/transactions";
import { createPool } from "mysql2/promise";
import type { Side } from "./sides.ts";

export function mysqlSide(url: string): Side {
  const pool = createPool({ uri: url, connectionLimit: 10 });
  const store = mysqlStore(pool);
  const close = async (): Promise<void> => {
    await store.close();
    await pool.end();
  };
  return { store, runner: mysql2Transactions(pool), connections: () => -1, close };
}
