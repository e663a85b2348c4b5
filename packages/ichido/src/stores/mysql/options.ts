/** What a user may set, checked once when the store is made. */
import { optionInvalid } from "../../core/contract/option-checks.ts";
import { given, integer, readOptions, type ReadBy } from "../../core/contract/read-options.ts";
import { tableOptions } from "../../sql/table-prefix.ts";
import { isPool, promiseSide, type DriverClient } from "./client.ts";

export interface MysqlStoreOptions {
  /** Begins the name of every table. Default `ichido_`. */
  readonly tablePrefix?: string;
  /**
   * Claims and completions of one moment travel together, so that one statement and one commit serve many. A single
   * request does not wait. Default on; on MariaDB from 10.5 on alone.
   */
  readonly group?: boolean;
  /** How many travel together at most. Default 64. */
  readonly groupSizeMax?: number;
  /**
   * Upper bound of every call, waiting for a connection and repetitions included. A connection that let it pass is
   * destroyed. Default 5 000.
   */
  readonly callTimeoutMs?: number;
  /** The same for `list` and `stats`, which read many records. Default 60 000. */
  readonly scanTimeoutMs?: number;
}

const timeoutMsMax = 3_600_000;

const optionTable = {
  tablePrefix: tableOptions.tablePrefix,
  group: given(true),
  groupSizeMax: integer(1, 200, 64),
  callTimeoutMs: integer(1, timeoutMsMax, 5_000),
  scanTimeoutMs: integer(1, timeoutMsMax, 60_000),
};

export function validateOptions(pool: DriverClient, options: MysqlStoreOptions): ReadBy<typeof optionTable> {
  const side: unknown = typeof pool === "object" && pool !== null ? promiseSide(pool) : undefined;
  const usable =
    typeof side === "object" &&
    side !== null &&
    (isPool(side as Parameters<typeof isPool>[0]) || typeof (side as { query?: unknown }).query === "function");
  if (!usable) {
    throw optionInvalid("pool", "a pool or connection of mysql2 or mariadb as first argument of mysqlStore", pool);
  }
  return readOptions("mysqlStore", options, optionTable);
}
