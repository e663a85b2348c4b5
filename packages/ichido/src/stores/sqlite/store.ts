/**
 * The SQLite store: one file, any number of processes on one host.
 *
 * What is promised. Every verb that writes runs in a transaction that holds SQLite's one write lock, so verbs of all
 * processes form one order, and S1 to S7 follow from deciding each of them on the record as it is there. With the default
 * `synchronous: "full"` an answer is given only after the disk confirmed the write: it survives the death of the
 * process, of the system, and a power cut, on disks that keep what they confirm. With `"normal"` it survives the death
 * of the process only; the last moments before a power cut are lost, and what they recorded would run again.
 *
 * What is left out. All processes must share the host and a local disk: SQLite's locks and shared memory do not work
 * over a network file system. The clock is the host's. There is no bound on records besides the disk; when that is full,
 * new claims fail and replays go on.
 */
import { integerOption, knownOptions, oneOfOption, optionalFunction } from "../../core/contract/option-checks.ts";
import { isIchidoError } from "../../core/contract/errors.ts";
import type { Identity } from "../../core/contract/record.ts";
import type { Store } from "../../core/contract/store.ts";
import type { SchemaPart } from "../../sql/migration.ts";
import { createMigrator, requireSchema, type Migrator } from "../../sql/migrator.ts";
import type { SchemaTalk } from "../../sql/schema-dialects.ts";
import { prefixDefault } from "../../sql/table-prefix.ts";
import { talkNow } from "../../sql/talk.ts";
import { claim, claimWithin } from "./claim.ts";
import { connect, type SqliteDatabase } from "./database.ts";
import { ensureDurability, type Synchronous } from "./durability.ts";
import { closedHandle, resultOf } from "./failure.ts";
import { createGate } from "./gate.ts";
import { audit, find, landed, steps } from "./inspect.ts";
import { list, stats } from "./list.ts";
import { complete, completeWithin, finishStep, release, renew, startStep, suspend } from "./ownership.ts";
import { clockOf, type Session } from "./session.ts";
import { settle } from "./settle.ts";
import { migrations, statements } from "./statements.generated.ts";
import { sweep, tick } from "./sweep.ts";
import { createWriteQueue, writeQueueDefaults } from "./write-queue.ts";
import { createWatching } from "./watch.ts";

export interface SqliteStoreOptions {
  /**
   * What a confirmed write survives. `full` (the default) and `extra`: a power cut. `normal`: the death of the process
   * only, about ten times as fast; a record lost in a power cut lets its operation run again.
   */
  readonly synchronous?: Synchronous;
  /** How long a call waits while another connection holds the write lock. Default 5000. */
  readonly lockTimeoutMs?: number;
  /** Calls that may wait in this process before more are refused. Default 10 000. */
  readonly queueMax?: number;
  /** For tests alone: the clock in place of the host's. */
  readonly nowMs?: () => number;
}

export interface SqliteStore extends Store, Migrator {}

const records: SchemaPart = { part: "records", dialect: "sqlite", migrations, prefix: prefixDefault };

const warned = new WeakSet<SqliteDatabase>();

/**
 * A store on the user's own handle. While a transaction of theirs is open on it, calls of the store wait for its end
 * (up to `lockTimeoutMs`), since they would otherwise be undone with it; `claim` and `complete` with a transaction handle join it
 * instead, and are then as durable as that connection's own `synchronous`.
 * A handler that keeps transactions open for long should give the store a handle of its own.
 */
export function sqliteStore(database: SqliteDatabase, options: SqliteStoreOptions = {}): SqliteStore {
  const {
    synchronous = "full",
    lockTimeoutMs = writeQueueDefaults.lockTimeoutMs,
    queueMax = writeQueueDefaults.queueMax,
    nowMs,
  } = options;
  check(options);
  const connection = connect(database);
  /** Some handles refuse to give the rows of a statement that has none. */
  const hold = <T>(talk: SchemaTalk<T>): T =>
    talkNow(talk, (sql) => {
      if (/^select/i.test(sql)) return connection.all(sql);
      connection.exec(sql);
      return [];
    });
  const requireTables = (): void => hold(requireSchema(records, "store", `the SQLite file ${connection.file}`));
  const inMemory = connection.file === "";
  const testUs = nowMs === undefined ? undefined : () => Math.floor(nowMs() * 1000);
  const nowUs = testUs ?? clockOf(connection);
  if (synchronous === "normal" && !inMemory && !warned.has(database)) {
    warned.add(database);
    process.emitWarning(
      "synchronous is normal: a power cut loses the newest records, and what they recorded would run again",
      { type: "IchidoWarning", code: "ICHIDO_SQLITE_NORMAL" },
    );
  }

  let durable = false;
  let schema = false;
  const queue = createWriteQueue({
    connection,
    lockTimeoutMs,
    queueMax,
    isReady: () => schema,
    prepare() {
      if (!durable) ensureDurability(connection, synchronous);
      durable = true;
      requireTables();
      schema = true;
    },
    explain(error) {
      if (isClosed(database)) return closedHandle(error);
      if (resultOf(error) !== "SQLITE_ERROR") return error;
      try {
        requireTables();
      } catch (better) {
        schema = false;
        if (isIchidoError(better)) return better;
      }
      return error;
    },
  });
  /** Migration works on what is not ready yet. */
  const bare = createWriteQueue({
    connection,
    lockTimeoutMs,
    queueMax,
    isReady: () => durable,
    prepare() {
      ensureDurability(connection, synchronous);
      durable = true;
    },
    explain: (error) => (isClosed(database) ? closedHandle(error) : error),
  });
  const session: Session = { connection, queue, nowUs, testUs };
  const watching = createWatching(session);
  const gate = createGate();

  async function waking<T>(identity: Identity, answer: Promise<T>): Promise<T> {
    const value = await answer;
    watching.changed(identity);
    return value;
  }

  return {
    name: "sqlite",
    capabilities: {
      durable: !inMemory,
      shared: !inMemory,
      transactions: "sqlite",
      transactionMode: true,
      promise: inMemory ? promises.memory : promises[synchronous],
    },
    callTimeoutMs: lockTimeoutMs,
    claim: (request, transaction) =>
      transaction === undefined
        ? gate.pass(() => claim(session, request))
        : gate.passBy(() => claimWithin(session, request, transaction)),
    renew: (requests) => gate.pass(() => renew(session, requests)),
    complete: (request, transaction) =>
      transaction === undefined
        ? gate.pass(() => waking(request.identity, complete(session, request)))
        : gate.passBy(() => completeWithin(session, request, transaction)),
    landed: (request) => gate.pass(() => landed(session, request)),
    release: (request) => gate.pass(() => waking(request.identity, release(session, request))),
    suspend: (request) => gate.pass(() => waking(request.identity, suspend(session, request))),
    startStep: (request) => gate.pass(() => startStep(session, request)),
    finishStep: (request) => gate.pass(() => finishStep(session, request)),
    steps: (identity) => gate.pass(() => steps(session, identity)),
    settle: (request) => gate.pass(() => waking(request.identity, settle(session, request))),
    audit: (identity) => gate.pass(() => audit(session, identity)),
    find: (identity) => gate.pass(() => find(session, identity)),
    list: (query) => gate.pass(() => list(session, query)),
    stats: () => gate.pass(() => stats(session)),
    sweep: (request) => gate.pass(() => sweep(session, request)),
    tick: (request) =>
      gate.pass(() => {
        // The handle is the user's: what they set on it since is noticed within a tick.
        durable = false;
        schema = false;
        return tick(session, request);
      }),
    ping: () =>
      gate.pass(() =>
        queue.write(() => {
          requireTables();
          connection.run(statements.ping);
        }),
      ),
    watch: (identity, timeoutMs) => gate.pass(() => watching.watch(identity, timeoutMs)),
    ...createMigrator(records, {
      read: (talk) => gate.pass(() => bare.read(() => hold(talk()))),
      write: (talk) => gate.pass(() => bare.write(() => hold(talk()))),
    }),
    close() {
      watching.close();
      return gate.close();
    },
  };
}

/** better-sqlite3 throws a TypeError then, which would look like a mistake of ours. */
function isClosed(database: SqliteDatabase): boolean {
  const { isOpen, open } = database as { readonly isOpen?: unknown; readonly open?: unknown };
  return isOpen === false || open === false;
}

const promises = {
  memory: "Nothing outlives the process: the SQLite database is in memory.",
  normal: "An acknowledged write survives the death of the process, not a power cut.",
  full: "An acknowledged write survives the death of the process and a power cut, on a disk that keeps what it confirmed.",
  extra:
    "An acknowledged write survives the death of the process and a power cut, on a disk that keeps what it confirmed.",
} as const;

function check(options: SqliteStoreOptions): void {
  knownOptions("sqliteStore", options, { synchronous: true, lockTimeoutMs: true, queueMax: true, nowMs: true });
  const { synchronous, lockTimeoutMs, queueMax, nowMs } = options;
  if (synchronous !== undefined) oneOfOption("synchronous", synchronous, ["full", "extra", "normal"]);
  for (const [name, value] of Object.entries({ lockTimeoutMs, queueMax })) {
    if (value !== undefined) integerOption(name, value, 1, Number.MAX_SAFE_INTEGER);
  }
  optionalFunction("nowMs", nowMs);
}
