/** What the databases say differently: here their clocks, each in one place. */
import type { TransactionHandle } from "../core/contract/transaction.ts";

export type Dialect = TransactionHandle["dialect"];

/** In UTC: local time has an hour twice a year that means two moments. */
export const mysqlClockUs = "timestampdiff(microsecond, timestamp'1970-01-01 00:00:00', utc_timestamp(6))";

/**
 * The server's clock in whole milliseconds since the epoch: one time for all rows of a statement, or a wait that ends between
 * two rows of a key would let the second one pass.
 */
export const clockMs: Readonly<Record<Dialect, string>> = {
  postgres: "(extract(epoch from statement_timestamp()) * 1000)::bigint",
  mysql: `(${mysqlClockUs} div 1000)`,
  sqlite: "cast(round(unixepoch('subsec') * 1000) as integer)",
};
