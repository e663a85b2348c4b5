/**
 * An SQLite file that several processes share and that must not lose what it acknowledged. Waiting for another process's
 * lock happens in the event loop, hardly inside SQLite, because heartbeats and other requests share the thread.
 */
import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { StartError } from "../errors.ts";

const BUSY_MS = 25;
const PATIENCE_MS = 10_000;
const RETRY_MS_MAX = 30;
const SQLITE_BUSY = 5;

/**
 * Migrations run in order, each once. The lock is taken before the version is read, so that two processes starting at
 * the same moment do not both run one.
 */
export async function openDatabase(file: string, migrations: readonly string[]): Promise<DatabaseSync> {
  const database = open(file);
  try {
    // FULL: a commit that was answered survives a power cut. NORMAL would lose the last ones in WAL mode.
    await patiently(() =>
      database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON"),
    );
    await inTransaction(database, () => migrate(database, migrations));
    return database;
  } catch (error) {
    database.close();
    throw cannotOpen(file, error);
  }
}

function open(file: string): DatabaseSync {
  try {
    mkdirSync(dirname(file), { recursive: true });
    // Made here, for its owner alone, where it is not there: SQLite would let everybody read it, and its log.
    closeSync(openSync(file, "a", 0o600));
    return new DatabaseSync(file, { timeout: BUSY_MS });
  } catch (error) {
    throw cannotOpen(file, error);
  }
}

function cannotOpen(file: string, error: unknown): StartError {
  return new StartError(`cannot open the database ${file}: ${(error as Error).message}`, { cause: error });
}

function migrate(database: DatabaseSync, migrations: readonly string[]): void {
  const { user_version: version } = database.prepare("PRAGMA user_version").get() as { user_version: number };
  for (const migration of migrations.slice(version)) database.exec(migration);
  if (version < migrations.length) database.exec(`PRAGMA user_version = ${migrations.length}`);
}

/**
 * IMMEDIATE takes the write lock at once: what was read inside is still true when it is written. `run` is synchronous, so
 * nothing else of this process gets between BEGIN and COMMIT.
 */
export async function inTransaction<T>(database: DatabaseSync, run: () => T): Promise<T> {
  return patiently(() => {
    database.exec("BEGIN IMMEDIATE");
    try {
      const result = run();
      database.exec("COMMIT");
      return result;
    } catch (error) {
      if (database.isTransaction) database.exec("ROLLBACK");
      throw error;
    }
  });
}

/** Tries again while another process holds the lock; whatever failed for that reason has changed nothing. */
export async function patiently<T>(run: () => T): Promise<T> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return run();
    } catch (error) {
      const { errcode = 0 } = error as { readonly errcode?: number };
      if ((errcode & 0xff) !== SQLITE_BUSY || performance.now() > deadline) throw error;
      await sleep(Math.random() * RETRY_MS_MAX);
    }
  }
}
