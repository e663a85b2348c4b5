/** Options of the SQLite store, checked once. */
import { aFunction, oneOf, optional, positive, readOptions, type ReadBy } from "../../core/contract/read-options.ts";
import { tableOptions } from "../../sql/table-prefix.ts";
import type { Synchronous } from "./durability.ts";

export interface SqliteStoreOptions {
  /**
   * What a confirmed write survives. `full` (the default) and `extra`: a power cut. `normal`: the death of the process
   * only, about ten times as fast; a record lost in a power cut lets its operation run again.
   */
  readonly synchronous?: Synchronous;
  /** Begins the name of every table. Default `ichido_`. */
  readonly tablePrefix?: string;
  /** How long a call waits while another connection holds the write lock. Default 5000. */
  readonly lockTimeoutMs?: number;
  /** Calls that may wait in this process before more are refused. Default 10 000. */
  readonly queueMax?: number;
  /** For tests alone: the clock in place of the host's. */
  readonly nowMs?: () => number;
}

export const optionTable = {
  tablePrefix: tableOptions.tablePrefix,
  synchronous: oneOf(["full", "extra", "normal"], "full"),
  lockTimeoutMs: positive(5_000),
  queueMax: positive(10_000),
  nowMs: optional(aFunction<() => number>()),
};

export function resolveOptions(options: SqliteStoreOptions): ReadBy<typeof optionTable> {
  return readOptions("sqliteStore", options, optionTable);
}
