/** What a user may set, checked once when the store is made. */
import { IchidoError } from "../../core/errors.ts";
import { isPool, promiseSide } from "./client.ts";
import type { MysqlClient } from "./client.ts";

export interface MysqlStoreOptions {
  /** Begins the name of every table: a letter or underscore, then up to 30 letters, digits and underscores. Default `ichido_`. */
  readonly tablePrefix?: string;
  /**
   * Upper bound of every call, waiting for a connection and repetitions included. A connection that let it pass is
   * destroyed. Default 5 000.
   */
  readonly callTimeoutMs?: number;
  /** The same for `list` and `stats`, which read many records. Default 60 000. */
  readonly scanTimeoutMs?: number;
}

const defaults = { tablePrefix: "ichido_", callTimeoutMs: 5_000, scanTimeoutMs: 60_000 } as const;
const timeoutMsMax = 3_600_000;

export function validateOptions(pool: MysqlClient, options: MysqlStoreOptions): Required<MysqlStoreOptions> {
  const side: unknown = typeof pool === "object" && pool !== null ? promiseSide(pool) : undefined;
  const usable =
    typeof side === "object" &&
    side !== null &&
    (isPool(side as Parameters<typeof isPool>[0]) || typeof (side as { query?: unknown }).query === "function");
  if (!usable) {
    throw new IchidoError(
      "option-invalid",
      "mysqlStore: expected a pool or connection of mysql2 or mariadb as first argument",
    );
  }
  const tablePrefix = options.tablePrefix ?? defaults.tablePrefix;
  if (!/^[A-Za-z_]\w{0,30}$/.test(tablePrefix)) {
    throw new IchidoError(
      "option-invalid",
      `tablePrefix: expected a letter or underscore, then up to 30 letters, digits and underscores, got "${tablePrefix}"`,
    );
  }
  return {
    tablePrefix,
    callTimeoutMs: timeout("callTimeoutMs", options.callTimeoutMs ?? defaults.callTimeoutMs),
    scanTimeoutMs: timeout("scanTimeoutMs", options.scanTimeoutMs ?? defaults.scanTimeoutMs),
  };
}

function timeout(name: string, value: number): number {
  if (Number.isInteger(value) && value >= 1 && value <= timeoutMsMax) return value;
  throw new IchidoError("option-invalid", `${name}: expected an integer from 1 to ${timeoutMsMax}, got ${value}`);
}
