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
import { IchidoError } from "../../core/contract/errors.ts";
import type { Store, StoreCapabilities } from "../../core/contract/store.ts";
import { createMigrator, type Migrator } from "../../sql/migrator.ts";
import { talkLater } from "../../sql/talk.ts";
import { createCalls } from "./calls.ts";
import { driverClient, driverName, type MysqlClient } from "./client.ts";
import { createDialect } from "./dialect.ts";
import { complete, finishStep, release, renew, startStep, suspend } from "./owned.ts";
import { sweepAlone, tick } from "./sweep.ts";
import { forget } from "./forget.ts";
import { attempts, auditLog, emptied, follow, log, note, resources, suspects, twins } from "./history.ts";
import { landed } from "./landed.ts";
import { createInspection } from "./inspection.ts";
import { list, stats } from "./listing.ts";
import { createTogether } from "./together.ts";
import { validateOptions, type MysqlStoreOptions } from "./options.ts";
import { recordOf, stepOf } from "./row.ts";
import { recordsPart } from "./schema.ts";
import { audit, settle } from "./settle.ts";
import { identityValues } from "./values.ts";
import { watch } from "./watch.ts";
import { SuspectSearch } from "../suspects.ts";

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
  const calls = createCalls(pool, settings.callTimeoutMs, dialect);
  const { session, call, renewal, alone, ping, close } = calls;
  let sweeping = false;

  const search = new SuspectSearch();
  const together = createTogether(settings, calls, dialect);

  return {
    name: "mysql",
    capabilities,
    callTimeoutMs: settings.callTimeoutMs,
    async claim(request, transaction) {
      if (transaction === undefined) return together.claim(request);
      throw new IchidoError(
        "usage-invalid",
        "claim: MySQL deadlocks on claims inside longer transactions, so the mysql store has no transaction mode; use lease mode and ctx.transaction",
      );
    },
    renew: (requests) => renew(renewal(), dialect, requests),
    complete: (request, transaction) =>
      transaction === undefined ? together.complete(request) : complete(call(), dialect, request, transaction),
    landed: (request) => landed(call(), dialect, request),
    release: (held) => release(call(), dialect, held),
    suspend: (request) => suspend(call(), dialect, request),
    startStep: (request) => startStep(call(), dialect, request),
    finishStep: (request) => finishStep(call(), dialect, request),
    async steps(identity) {
      return (await dialect.send(call(), "steps", identityValues(identity))).rows.map(stepOf);
    },
    settle: (request) => settle(call(), dialect, request, settings.callTimeoutMs),
    resources: (identity) => resources(call(), dialect, identity),
    log: (batch) => log(call(), dialect, search, batch),
    attempts: (identity) => attempts(call(), dialect, identity),
    follow: (query) => follow(call(), dialect, query),
    twins: (identity) => twins(call(), dialect, identity),
    suspects: (query) => suspects(call(), dialect, query),
    note: (entry) => note(call(), dialect, entry),
    audit: (identity) => audit(call(), dialect, identity),
    auditLog: (query) => auditLog(call(), dialect, query),
    forget: (request) => forget(call(), dialect, request, settings.callTimeoutMs),
    emptyReasons: (values) => emptied(call(), dialect, values),
    async find(identity) {
      const [row] = (await dialect.send(call(), "find", identityValues(identity))).rows;
      return row === undefined ? undefined : recordOf(row);
    },
    list: (query) => list(call(settings.scanTimeoutMs), dialect, query),
    stats: () => stats(call(settings.scanTimeoutMs), dialect),
    async sweep(request) {
      // A lock of the server is no lock between two sweeps on one and the same connection.
      if (sweeping) return { deleted: 0, more: false, guarded: false, busy: true };
      sweeping = true;
      try {
        return await alone((run) => sweepAlone(run, dialect, request));
      } finally {
        sweeping = false;
      }
    },
    tick: (request) => tick(call(), dialect, request),
    ping,
    ...createInspection(calls, dialect, driverName(pool)),
    watch: (identity, timeoutMs) => watch((sql, values) => call()(sql, values), dialect, identity, timeoutMs),
    close,
    ...createMigrator(recordsPart(settings.tablePrefix), {
      read: (talk) => talkLater(talk(), async (sql) => (await session.run(sql, [])).rows),
      write: (talk) =>
        session.onOneConnection((run) =>
          talkLater(talk(), async (sql) => (await run(sql, [], migrationTimeoutMs)).rows),
        ),
    }),
  };
}
