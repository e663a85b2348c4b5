/**
 * The MySQL and MariaDB store.
 *
 * Every verb is decided by one autocommitted statement on one record, found by its primary key. No transaction is ever
 * opened: an `INSERT … ON DUPLICATE KEY UPDATE` inside a longer one deadlocks (a third of them, with three crossed
 * keys), and a lock held during a handler makes its duplicates hang. Where two rows must change together (a step and its
 * record, a settlement and its audit row), one of them is written beforehand as a proposal that nobody sees, and a
 * single multi-table UPDATE makes both true.
 *
 * Needs nothing of the session: no isolation level, no `sql_mode` (lengths are checked before they are sent, values are
 * bytes and integers, assignments do not depend on their order), no time zone (UTC microseconds by the server's clock),
 * no multiple statements. It does need autocommit, and a server that accepts writes; both are looked at before the first
 * call and by every `ping`, because an account with enough privileges may write to a read-only replica.
 *
 * What an answer survives is the server's business: `innodb_flush_log_at_trx_commit = 1` and, with a binary log,
 * `sync_binlog = 1` for a crash; semi-synchronous replication for a failover. `max_allowed_packet` must hold an answer
 * twice over, since drivers send its bytes as hexadecimal digits or with escapes.
 *
 * Proven on MariaDB 10.11. The statements keep to what MySQL 8 documents as well, but no MySQL server was at hand: run
 * the store suite of `ichido/testing` on yours.
 */
import { IchidoError } from "../../core/errors.ts";
import type { Store, StoreCapabilities } from "../../core/store.ts";
import { claim } from "./claim.ts";
import { integerOf, isPool, promiseSide } from "./client.ts";
import type { MysqlClient } from "./client.ts";
import { createDialect } from "./dialect.ts";
import { complete, finishStep, release, renew, startStep, suspend } from "./fenced.ts";
import { sweep, tick } from "./housekeeping.ts";
import { list, stats } from "./listing.ts";
import { migrate, plan } from "./migrate.ts";
import type { PlannedMigration } from "./migrate.ts";
import { recordOf, stepOf } from "./rows.ts";
import { createSession } from "./session.ts";
import type { Run } from "./session.ts";
import { audit, settle } from "./settle.ts";
import { identityValues } from "./values.ts";
import { watch } from "./watch.ts";

export interface MysqlStoreOptions {
  /** Begins the name of every table: a letter or underscore, then up to 30 letters, digits and underscores. Default `ichido_`. */
  readonly tablePrefix?: string;
  /**
   * The longest wait for a connection, and again for the answer to one statement. A connection that let it pass is
   * destroyed. Default 10 000: longer than the engine waits, so that a grant that came too late can still be given back.
   */
  readonly statementTimeoutMs?: number;
  /** The same for `list` and `stats`, which read many records. Default 60 000. */
  readonly scanTimeoutMs?: number;
}

export interface MysqlStore extends Store {
  watch: NonNullable<Store["watch"]>;
  /** Creates or updates the tables. Run it when you deploy, never from a request. Gives what was done. */
  migrate(): Promise<readonly PlannedMigration[]>;
  /** What `migrate` would do. */
  plan(): Promise<readonly PlannedMigration[]>;
}

const defaults = { tablePrefix: "ichido_", statementTimeoutMs: 10_000, scanTimeoutMs: 60_000 } as const;
const timeoutMsMax = 3_600_000;

const capabilities: StoreCapabilities = {
  durable: true,
  shared: true,
  transactions: "mysql",
  promise:
    "An acknowledged write survives a crash of the server where innodb_flush_log_at_trx_commit is 1 (and sync_binlog is 1 " +
    "if the binary log is on), and a failover where the replica had acknowledged it too.",
};

export function mysqlStore(pool: MysqlClient, options: MysqlStoreOptions = {}): MysqlStore {
  const settings = validate(pool, options);
  const dialect = createDialect(settings.tablePrefix);
  let checked: Promise<void> | undefined;
  const session = createSession(pool, { timeoutMs: settings.statementTimeoutMs, beforeResend: ping });

  /** Once before the first call, and again after a failure: behind the same address there may be another server now. */
  async function ready(): Promise<void> {
    checked ??= ping();
    try {
      await checked;
    } catch (error) {
      checked = undefined;
      throw error;
    }
  }

  const run: Run = async (sql, values, timeoutMs) => {
    await ready();
    try {
      return await session.run(sql, values, timeoutMs);
    } catch (error) {
      checked = undefined;
      throw error;
    }
  };

  async function ping(): Promise<void> {
    const statement = dialect.statement("ping");
    const [row] = (await session.probe(statement.sql, [])).rows;
    const isOff = (name: string): boolean => ["0", "OFF"].includes(String(row?.[name]).toUpperCase());
    if (!isOff("read_only") || !isOff("innodb_read_only")) {
      throw new IchidoError(
        "store-unavailable",
        "the MySQL server is read-only, perhaps a replica; connect to the primary",
      );
    }
    if (integerOf(row?.["autocommit"] ?? 0) !== 1) {
      throw new IchidoError(
        "option-invalid",
        "autocommit is off on this pool's connections, so no claim would ever be committed; give the store a pool that leaves it on",
      );
    }
  }

  return {
    name: "mysql",
    capabilities,
    async claim(request, transaction) {
      if (transaction === undefined) return claim(run, dialect, request);
      throw new IchidoError(
        "option-invalid",
        "claim: MySQL deadlocks on claims inside longer transactions, so the mysql store has no transaction mode; use lease mode and ctx.transaction",
      );
    },
    renew: (requests) => renew(run, dialect, requests),
    complete: (request, transaction) => complete(run, dialect, request, transaction),
    release: (held) => release(run, dialect, held),
    suspend: (request) => suspend(run, dialect, request),
    startStep: (request) => startStep(run, dialect, request),
    finishStep: (request) => finishStep(run, dialect, request),
    async steps(identity) {
      const statement = dialect.statement("steps");
      return (await run(statement.sql, statement.bind(identityValues(identity)))).rows.map(stepOf);
    },
    settle: (request) => settle(run, dialect, request),
    audit: (identity) => audit(run, dialect, identity),
    async find(identity) {
      const statement = dialect.statement("find");
      const [row] = (await run(statement.sql, statement.bind(identityValues(identity)))).rows;
      return row === undefined ? undefined : recordOf(row);
    },
    list: (query) => list(run, dialect, query, settings.scanTimeoutMs),
    stats: () => stats(run, dialect, settings.scanTimeoutMs),
    sweep: (request) => sweep(run, dialect, request),
    tick: (request) => tick(run, dialect, request),
    ping,
    watch: (identity, timeoutMs) => watch(run, dialect, identity, timeoutMs),
    close: async () => undefined,
    migrate: () => migrate(session, dialect),
    plan: () => plan(session, dialect),
  };
}

function validate(pool: MysqlClient, options: MysqlStoreOptions): Required<MysqlStoreOptions> {
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
    statementTimeoutMs: timeout("statementTimeoutMs", options.statementTimeoutMs ?? defaults.statementTimeoutMs),
    scanTimeoutMs: timeout("scanTimeoutMs", options.scanTimeoutMs ?? defaults.scanTimeoutMs),
  };
}

function timeout(name: string, value: number): number {
  if (Number.isInteger(value) && value >= 1 && value <= timeoutMsMax) return value;
  throw new IchidoError("option-invalid", `${name}: expected an integer from 1 to ${timeoutMsMax}, got ${value}`);
}
