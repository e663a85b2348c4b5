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
 * Completions are not grouped either: InnoDB itself lets commits of many connections share one flush of its log.
 *
 * Proven on MariaDB 10.11. The statements keep to what MySQL 8 documents as well, but no MySQL server was at hand: run
 * the store suite of `ichido/testing` on yours.
 */
import { withDeadline } from "../../core/contract/deadline.ts";
import { systemEnvironment } from "../../core/contract/environment.ts";
import { IchidoError } from "../../core/contract/errors.ts";
import type { Store, StoreCapabilities } from "../../core/contract/store.ts";
import { createMigrator, type Migrator } from "../../sql/migrator.ts";
import { talkLater } from "../../sql/talk.ts";
import { claim } from "./claim.ts";
import { driverClient } from "./client.ts";
import type { MysqlClient } from "./client.ts";
import { createDialect } from "./dialect.ts";
import { complete, finishStep, release, renew, startStep, suspend } from "./fenced.ts";
import { failureOf } from "./failures.ts";
import { sweepAlone, tick } from "./housekeeping.ts";
import { landed } from "./landed.ts";
import { list, stats } from "./listing.ts";
import { validateOptions } from "./options.ts";
import type { MysqlStoreOptions } from "./options.ts";
import { createRenewals } from "./renewals.ts";
import { recordOf, stepOf } from "./rows.ts";
import { assertFits, lookAtServer } from "./server.ts";
import { countdown, createSession } from "./session.ts";
import type { Run } from "./session.ts";
import { audit, settle } from "./settle.ts";
import { migrations } from "./statements.generated.ts";
import { identityValues } from "./values.ts";
import { watch } from "./watch.ts";

export interface MysqlStore extends Store, Migrator {
  watch: NonNullable<Store["watch"]>;
}

/** Building an index on a large table takes its time. */
const migrationTimeoutMs = 600_000;

const capabilities: StoreCapabilities = {
  durable: true,
  shared: true,
  transactions: "mysql",
  promise:
    "An acknowledged write survives a crash of the server where innodb_flush_log_at_trx_commit is 1 (and sync_binlog is 1 " +
    "if the binary log is on), and a failover where the replica had acknowledged it too.",
};

export function mysqlStore(client: MysqlClient, options: MysqlStoreOptions = {}): MysqlStore {
  const pool = driverClient(client);
  const settings = validateOptions(pool, options);
  const dialect = createDialect(settings.tablePrefix);
  let checked: Promise<void> | undefined;
  let isReady = false;
  let packetBytesMax = Number.POSITIVE_INFINITY;
  let sweeping = false;
  const renewals = createRenewals(pool, look);
  const session = createSession(pool, {
    timeoutMs: settings.callTimeoutMs,
    beforeResend: look,
    renewOnce: renewals.once,
  });

  /** Once before the first call, and again after a failure: behind the same address there may be another server now. */
  async function ready(): Promise<void> {
    checked ??= ping();
    try {
      await checked;
      isReady = true;
    } catch (error) {
      checked = undefined;
      throw error;
    }
  }

  function lookAgain(): void {
    checked = undefined;
    isReady = false;
  }

  const fitting =
    (send: Run): Run =>
    async (sql, values, timeoutMs) => {
      assertFits(packetBytesMax, sql, values);
      return send(sql, values, timeoutMs);
    };

  /** For one call: all its statements share its time. */
  function call(
    timeoutMs: number = settings.callTimeoutMs,
    send: Run = session.run,
    makeReady: () => Promise<void> = ready,
  ): Run {
    const left = countdown(timeoutMs);
    return async (sql, values) => {
      if (!isReady) {
        await withDeadline(systemEnvironment, left(), makeReady).catch((error: unknown) => {
          // The next call must not wait for a look that nobody answers.
          lookAgain();
          throw failureOf(error);
        });
      }
      assertFits(packetBytesMax, sql, values);
      try {
        return await send(sql, values, left());
      } catch (error) {
        lookAgain();
        throw error;
      }
    };
  }

  async function look(probe: Run): Promise<void> {
    ({ packetBytesMax } = await lookAtServer(probe, dialect));
  }

  async function ping(): Promise<void> {
    await look(session.probe);
    for (const right of ["mayInsert", "mayUpdate", "mayDelete"] as const) {
      await session.probe(dialect.statement(right).sql, []);
    }
  }

  /** A claim that got no connection makes the next call look again: renewals must not wait for that look. */
  const renewing = (): Run => call(settings.callTimeoutMs, session.renewals.run, () => look(session.renewals.probe));

  return {
    name: "mysql",
    capabilities,
    callTimeoutMs: settings.callTimeoutMs,
    async claim(request, transaction) {
      if (transaction === undefined) return claim(call(), dialect, request);
      throw new IchidoError(
        "usage-invalid",
        "claim: MySQL deadlocks on claims inside longer transactions, so the mysql store has no transaction mode; use lease mode and ctx.transaction",
      );
    },
    renew: (requests) => renew(renewing(), dialect, requests),
    complete: (request, transaction) => complete(call(), dialect, request, transaction),
    landed: (request) => landed(call(), dialect, request),
    release: (held) => release(call(), dialect, held),
    suspend: (request) => suspend(call(), dialect, request),
    startStep: (request) => startStep(call(), dialect, request),
    finishStep: (request) => finishStep(call(), dialect, request),
    async steps(identity) {
      const statement = dialect.statement("steps");
      return (await call()(statement.sql, statement.bind(identityValues(identity)))).rows.map(stepOf);
    },
    settle: (request) => settle(call(), dialect, request),
    audit: (identity) => audit(call(), dialect, identity),
    async find(identity) {
      const statement = dialect.statement("find");
      const [row] = (await call()(statement.sql, statement.bind(identityValues(identity)))).rows;
      return row === undefined ? undefined : recordOf(row);
    },
    list: (query) => list(call(settings.scanTimeoutMs), dialect, query),
    stats: () => stats(call(settings.scanTimeoutMs), dialect),
    async sweep(request) {
      // A lock of the server is no lock between two sweeps on one and the same connection.
      if (sweeping) return { deleted: 0, more: false, guarded: false, busy: true };
      sweeping = true;
      try {
        await ready();
        return await session.onOneConnection((send) => sweepAlone(fitting(send), dialect, request), "again when lost");
      } catch (error) {
        lookAgain();
        throw error;
      } finally {
        sweeping = false;
      }
    },
    tick: (request) => tick(call(), dialect, request),
    ping,
    watch: (identity, timeoutMs) => watch((sql, values) => call()(sql, values), dialect, identity, timeoutMs),
    close: () => renewals.close(),
    ...createMigrator(
      { part: "records", dialect: "mysql", migrations, prefix: settings.tablePrefix },
      {
        read: (talk) => talkLater(talk(), async (sql) => (await session.run(sql, [])).rows),
        write: (talk) =>
          session.onOneConnection((run) =>
            talkLater(talk(), async (sql) => (await run(sql, [], migrationTimeoutMs)).rows),
          ),
      },
    ),
  };
}
