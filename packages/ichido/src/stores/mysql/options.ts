/** What a user may set, checked once when the store is made. */
import { integerOption, knownOptions, optionInvalid } from "../../core/contract/option-checks.ts";
import { tablePrefixOption } from "../../sql/table-prefix.ts";
import { isPool, promiseSide } from "./client.ts";
import type { DriverClient } from "./client.ts";

export interface MysqlStoreOptions {
  /** Begins the name of every table. Default `ichido_`. */
  readonly tablePrefix?: string;
  /**
   * Upper bound of every call, waiting for a connection and repetitions included. A connection that let it pass is
   * destroyed. Default 5 000.
   */
  readonly callTimeoutMs?: number;
  /** The same for `list` and `stats`, which read many records. Default 60 000. */
  readonly scanTimeoutMs?: number;
}

const defaults = { callTimeoutMs: 5_000, scanTimeoutMs: 60_000 } as const;
const timeoutMsMax = 3_600_000;

export function validateOptions(pool: DriverClient, options: MysqlStoreOptions): Required<MysqlStoreOptions> {
  const side: unknown = typeof pool === "object" && pool !== null ? promiseSide(pool) : undefined;
  const usable =
    typeof side === "object" &&
    side !== null &&
    (isPool(side as Parameters<typeof isPool>[0]) || typeof (side as { query?: unknown }).query === "function");
  if (!usable) {
    throw optionInvalid("pool", "a pool or connection of mysql2 or mariadb as first argument of mysqlStore", pool);
  }
  knownOptions("mysqlStore", options, { tablePrefix: true, callTimeoutMs: true, scanTimeoutMs: true });
  return {
    tablePrefix: tablePrefixOption(options.tablePrefix),
    callTimeoutMs: timeout("callTimeoutMs", options.callTimeoutMs ?? defaults.callTimeoutMs),
    scanTimeoutMs: timeout("scanTimeoutMs", options.scanTimeoutMs ?? defaults.scanTimeoutMs),
  };
}

function timeout(name: string, value: unknown): number {
  return integerOption(name, value, 1, timeoutMsMax);
}
