/** A store with a connection of its own, for programs that have none to share. */
import { optionInvalid } from "../../core/contract/option-checks.ts";
import { given, readOptions } from "../../core/contract/read-options.ts";
import { requireRuntime } from "../../core/contract/runtime.ts";
import { busyTimeoutMs } from "./durability.ts";
import { failureOf } from "./failures.ts";
import { optionTable, type SqliteStoreOptions } from "./options.ts";
import { sqliteStore, type SqliteStore } from "./store.ts";

export interface OpenSqliteStoreOptions extends SqliteStoreOptions {
  /** Create or update the tables before the store is handed out. Default false. */
  readonly migrate?: boolean;
}

/**
 * Pages in the write-ahead log, 16 MB, before they are copied into the file: keys are random, so a page of the index is
 * written again and again, and copied once. On a handle of the user's this is left as it is.
 */
const checkpointPages = 4_000;

/** Opens the file with `node:sqlite`, creating it where it is missing, for its owner alone. `close()` closes it. */
export async function openSqliteStore(path: string, options: OpenSqliteStoreOptions = {}): Promise<SqliteStore> {
  const { migrate = false, ...rest } = options;
  if (typeof path !== "string" || path === "") {
    throw optionInvalid("path", "the path of a file", path);
  }
  readOptions("openSqliteStore", options, { ...optionTable, migrate: given(false) });
  requireRuntime();
  // Loaded here alone: importing this module must not fail or warn where node:sqlite is absent or experimental.
  const { DatabaseSync } = await import("node:sqlite");
  await createPrivate(path);
  const database = opened(path, () => new DatabaseSync(path, { timeout: busyTimeoutMs }));
  database.exec(`PRAGMA wal_autocheckpoint = ${checkpointPages}`);
  const store = sqliteStore(database, rest);
  try {
    if (migrate) await store.migrate();
  } catch (error) {
    database.close();
    throw error;
  }
  return {
    ...store,
    async close() {
      await store.close();
      if (database.isOpen) database.close();
    },
  };
}

/** Answers lie in it in clear. The files that SQLite puts beside it get the same mode. */
async function createPrivate(path: string): Promise<void> {
  if (path === ":memory:" || path.startsWith("file:")) return;
  const { open } = await import("node:fs/promises");
  try {
    await (await open(path, "wx", 0o600)).close();
  } catch {
    // The file is there, and keeps its mode; or it cannot be made, and SQLite says why.
  }
}

function opened<T>(path: string, open: () => T): T {
  try {
    return open();
  } catch (error) {
    throw failureOf(error, path);
  }
}
