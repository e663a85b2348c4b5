/** Options of the PostgreSQL store, checked once. */
import type { Environment } from "../../core/contract/environment.ts";
import { integerOption, optionInvalid } from "../../core/contract/option-checks.ts";
import { environment, given, integer, orElse, readOptions, type ReadBy } from "../../core/contract/read-options.ts";
import { tableOptions, type TableOptions } from "../../sql/table-prefix.ts";
import type { Prepare } from "./connection.ts";
import type { ListenConnection } from "./listen.ts";

export interface PostgresStoreOptions extends TableOptions {
  /**
   * Claims and completions that come while another is under way travel together in one statement, so that one commit
   * serves many. A single request does not wait. Default on.
   */
  readonly group?: boolean;
  /** How many travel together at most; of a crowd, two such groups at once. Default 32. */
  readonly groupSizeMax?: number;
  /**
   * How long a claim waits for a row that another transaction holds before it answers "in flight". What writes a record waits
   * as long, on the server too, and asks again while there is time. Default 1 000.
   */
  readonly lockTimeoutMs?: number;
  /** Upper bound of every call, waiting for a connection and retries included. Default 5 000. */
  readonly callTimeoutMs?: number;
  /**
   * Named prepared statements: less work for the server, but they stay on the session, which a pooler in transaction mode
   * gives to others (PgBouncer before 1.21 does not track them). Default `"auto"`: with `pg`, claims, completions and steps are
   * prepared on connections where the process that answers is the one that was announced when the connection was opened;
   * PgBouncer announces one of its own making. `true`: every statement, on either driver. `false`: none.
   */
  readonly prepare?: Prepare;
  /**
   * Wakes waiting duplicates by notification, over one connection of its own, opened when the first one waits. `true`
   * makes it from the client given; through a transaction pooler give `connect` a direct one. Default off: waiting
   * duplicates are found by polling alone, all of a process in one statement.
   */
  readonly listen?: boolean | { connect(): Promise<ListenConnection> };
  readonly environment?: Environment;
}

const optionTable = {
  ...tableOptions,
  group: given(true),
  groupSizeMax: integer(1, 500, 32),
  callTimeoutMs: integer(100, 600_000, 5_000),
  lockTimeoutMs: given<number | undefined>(),
  prepare: orElse("auto", prepareOf),
  listen: given<NonNullable<PostgresStoreOptions["listen"]>>(false),
  environment,
};

export type ResolvedOptions = ReadBy<typeof optionTable> & { readonly lockTimeoutMs: number };

export function resolveOptions(options: PostgresStoreOptions): ResolvedOptions {
  const settings = readOptions("postgresStore", options, optionTable);
  const { callTimeoutMs, lockTimeoutMs = Math.min(1_000, Math.floor(callTimeoutMs / 4)) } = settings;
  // Shorter than a try (half a call), or a claim would end without the answer that the row is locked.
  return { ...settings, lockTimeoutMs: integerOption("lockTimeoutMs", lockTimeoutMs, 1, callTimeoutMs / 2) };
}

function prepareOf(option: string, value: unknown): Prepare {
  if (value === "auto" || typeof value === "boolean") return value;
  throw optionInvalid(option, 'true, false or "auto"', value);
}
