/** The stores that adapters are tried on. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { memoryStore } from "ichido/memory";
import { openSqliteStore } from "ichido/sqlite";
import {
  filedEffects,
  spawnChild,
  type AdapterStore,
  type AdapterSubject,
  type Child,
  type ServerProcesses,
  type TransactionalEffects,
} from "ichido/testing";
import { nodeSqliteTransactions } from "../../packages/ichido/src/transactions/index.ts";
import type { FrameworkName } from "./subjects.ts";

type StorePart = Pick<AdapterSubject, "openStore" | "openProcesses" | "transactions">;

export interface SqliteFiles {
  readonly database: string;
  readonly effects: string;
  readonly arrivals: string;
}

export function transactionalEffects(path: string): TransactionalEffects & { close(): void } {
  const database = new DatabaseSync(path, { timeout: 5_000 });
  database.exec("CREATE TABLE IF NOT EXISTS effects (id INTEGER PRIMARY KEY)");
  return {
    runner: nodeSqliteTransactions(database),
    async note(handle) {
      await handle.execute("INSERT INTO effects DEFAULT VALUES", []);
    },
    count: async () => Number(database.prepare("SELECT count(*) AS n FROM effects").get()?.["n"]),
    close: () => database.close(),
  };
}

function temporaryFiles(): { readonly files: SqliteFiles; readonly remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), "ichido-adapter-"));
  const inFolder = (name: string): string => join(folder, name);
  const files = {
    database: inFolder("ichido.db"),
    effects: inFolder("effects.txt"),
    arrivals: inFolder("arrivals.txt"),
  };
  return { files, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

async function openSqlite(): Promise<AdapterStore> {
  const { files, remove } = temporaryFiles();
  const store = await openSqliteStore(files.database, { migrate: true });
  const second = await openSqliteStore(files.database);
  const transactional = transactionalEffects(files.database);
  return {
    store,
    second,
    transactional,
    async close() {
      transactional.close();
      await store.close();
      await second.close();
      remove();
    },
  };
}

/** A server that starts from it takes a third of the time; there are many of them. */
const compileCache = fileURLToPath(new URL("../../node_modules/.cache/ichido-servers", import.meta.url));

function sqliteProcesses(framework: FrameworkName): () => Promise<ServerProcesses> {
  return async () => {
    const { files, remove } = temporaryFiles();
    await (await openSqliteStore(files.database, { migrate: true })).close();
    const committed = transactionalEffects(files.database);
    const children: Child[] = [];
    return {
      effects: filedEffects(files.effects),
      arrivals: filedEffects(files.arrivals),
      committedEffects: () => committed.count(),
      async start(options = {}) {
        const { faults, ...engine } = options;
        const child = await spawnChild(new URL("server.child.ts", import.meta.url), {
          args: [framework, JSON.stringify(files), JSON.stringify(engine)],
          env: { ICHIDO_FAULTS: faults, NODE_ENV: "test", NODE_COMPILE_CACHE: compileCache },
        });
        children.push(child);
        const [, port] = await child.waitFor(/^listening on (\d+)$/, 30_000);
        return {
          port: Number(port),
          kill: async () => void (await child.kill()),
          stop: async () => void (await child.stop()),
        };
      },
      async close() {
        await Promise.all(children.map((child) => child.stop(1_000)));
        committed.close();
        remove();
      },
    };
  };
}

export function storeParts(framework: FrameworkName): Readonly<Record<"memory" | "sqlite", StorePart>> {
  return {
    memory: {
      async openStore() {
        const store = memoryStore();
        return { store, close: () => store.close() };
      },
    },
    sqlite: { openStore: openSqlite, openProcesses: sqliteProcesses(framework), transactions: true },
  };
}
