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
import type { Identity } from "../../core/contract/record.ts";
import type { Store } from "../../core/contract/store.ts";
import { createMigrator, requireSchema, type Migrator } from "../../sql/migrator.ts";
import type { SchemaTalk } from "../../sql/schema-dialects.ts";
import { talkNow } from "../../sql/talk.ts";
import { claim, claimWithin } from "./claim.ts";
import { connect, type Connection, type SqliteDatabase } from "./database.ts";
import { emptyReasons, forget } from "./forget.ts";
import { createGate } from "./gate.ts";
import { createHistoryVerbs } from "./history.ts";
import { audit, find, landed, steps } from "./inspect.ts";
import { createInspection } from "./inspection.ts";
import { list, stats } from "./listing.ts";
import { complete, completeWithin, finishStep, release, renew, startStep, suspend } from "./owned.ts";
import { hostNowUs, type Session } from "./session.ts";
import { settle } from "./settle.ts";
import { resolveOptions, type SqliteStoreOptions } from "./options.ts";
import { recordsPart } from "./schema.ts";
import { statementsFor } from "./statements.ts";
import { sweep, tick } from "./sweep.ts";
import { createQueues } from "./queues.ts";
import { createWatching } from "./watch.ts";

export interface SqliteStore extends Store, Migrator {}

const warned = new WeakSet<SqliteDatabase>();

/**
 * A store on the user's own handle. While a transaction of theirs is open on it, calls of the store wait for its end
 * (up to `lockTimeoutMs`), since they would otherwise be undone with it; `claim` and `complete` with a transaction handle join it
 * instead, and are then as durable as that connection's own `synchronous`.
 * A handler that keeps transactions open for long should give the store a handle of its own.
 */
export function sqliteStore(database: SqliteDatabase, options: SqliteStoreOptions = {}): SqliteStore {
  const resolved = resolveOptions(options);
  const { synchronous, lockTimeoutMs, tablePrefix: prefix, nowMs } = resolved;
  const records = recordsPart(prefix);
  const statements = statementsFor(prefix);
  const connection = connect(database);
  const hold = <T>(talk: SchemaTalk<T>): T => talkOn(connection, talk);
  const requireTables = (): void => hold(requireSchema(records, "store", `the SQLite file ${connection.file}`));
  const inMemory = connection.file === "";
  const testUs = nowMs === undefined ? undefined : () => Math.floor(nowMs() * 1000);
  const nowUs = testUs ?? hostNowUs;
  if (synchronous === "normal" && !inMemory) warnOnce(database);

  const { queue, bare, lookAgain } = createQueues(database, connection, resolved, requireTables);
  const session: Session = { connection, statements, queue, nowUs, testUs };
  const watching = createWatching(session);
  const inspection = createInspection({ session, bare, synchronous });
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
    ...createHistoryVerbs(session, gate),
    forget: (request) => gate.pass(() => forget(session, request)),
    emptyReasons: (values) => gate.pass(() => emptyReasons(session, values)),
    find: (identity) => gate.pass(() => find(session, identity)),
    list: (query) => gate.pass(() => list(session, query)),
    stats: () => gate.pass(() => stats(session)),
    sweep: (request) => gate.pass(() => sweep(session, request)),
    tick: (request) =>
      gate.pass(() => {
        // What the user set on the handle since is noticed within a tick.
        lookAgain();
        return tick(session, request);
      }),
    ping: () =>
      gate.pass(() =>
        queue.write(() => {
          requireTables();
          connection.run(statements.ping);
        }),
      ),
    inspect: () => gate.pass(() => inspection.inspect()),
    noteEngine: (note) => gate.pass(() => inspection.noteEngine(note)),
    engines: () => gate.pass(() => inspection.engines()),
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

/** Some handles refuse to give the rows of a statement that has none. */
function talkOn<T>(connection: Connection, talk: SchemaTalk<T>): T {
  return talkNow(talk, (sql) => {
    if (/^select/i.test(sql)) return connection.all(sql);
    connection.exec(sql);
    return [];
  });
}

function warnOnce(database: SqliteDatabase): void {
  if (warned.has(database)) return;
  warned.add(database);
  process.emitWarning(
    "synchronous is normal: a power cut loses the newest records, and what they recorded would run again",
    { type: "IchidoWarning", code: "ICHIDO_SQLITE_NORMAL" },
  );
}

const promises = {
  memory: "Nothing outlives the process: the SQLite database is in memory.",
  normal: "An acknowledged write survives the death of the process, not a power cut.",
  full: "An acknowledged write survives the death of the process and a power cut, on a disk that keeps what it confirmed.",
  extra:
    "An acknowledged write survives the death of the process and a power cut, on a disk that keeps what it confirmed.",
} as const;
