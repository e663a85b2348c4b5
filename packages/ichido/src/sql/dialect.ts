/** What the databases say differently: here their clocks, each in one place. */
import type { TransactionHandle } from "../core/transaction.ts";

export type Dialect = TransactionHandle["dialect"];

/** The server's clock as a statement reads it, in whole milliseconds since the epoch. */
export const clockMs: Readonly<Record<Dialect, string>> = {
  postgres: "(extract(epoch from clock_timestamp()) * 1000)::bigint",
  // In UTC: local time has an hour twice a year that means two moments.
  mysql: "(timestampdiff(microsecond, timestamp'1970-01-01 00:00:00', utc_timestamp(3)) div 1000)",
  sqlite: "cast(round(unixepoch('subsec') * 1000) as integer)",
};
