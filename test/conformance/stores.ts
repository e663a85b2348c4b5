/** The stores that adapters are tried on. */
import { randomUUID } from "node:crypto";
import { accessSync, constants, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { memoryStore } from "ichido/memory";
import { openSqliteStore } from "ichido/sqlite";
import type {
  AdapterStore,
  AdapterSubject,
  Child,
  ProcessOptions,
  ServerProcess,
  ServerProcesses,
  TransactionalEffects,
} from "ichido/testing";
import { filedEffects } from "../../packages/ichido/src/testing/adapter-suite/effects.ts";
import { spawnChild } from "../../packages/ichido/src/testing/child.ts";
import { nodeSqliteTransactions } from "ichido/transactions";
import type { FrameworkName } from "./subjects.ts";

type StorePart = Pick<AdapterSubject, "openStore" | "openProcesses" | "transactions">;

export interface SqliteFiles {
  readonly database: string;
  readonly effects: string;
  readonly arrivals: string;
}

export function transactionalEffects(path: string): TransactionalEffects & { close(): void } {
  const database = new DatabaseSync(path, { timeout: 5_000 });
  database.exec("CREATE TABLE IF NOT EXISTS effects (id INTEGER PRIMARY KEY, tally TEXT NOT NULL)");
  return {
    runner: nodeSqliteTransactions(database),
    async note(handle, tally = "") {
      await handle.execute("INSERT INTO effects (tally) VALUES (?)", [tally]);
    },
    count: async (tally = "") =>
      Number(database.prepare("SELECT count(*) AS n FROM effects WHERE tally = ?").get(tally)?.["n"]),
    close: () => database.close(),
  };
}

/** In memory where the system has a place for that: these cases are about adapters, and would mostly wait for the disk. */
function quickFolder(): string {
  const memory = "/dev/shm";
  try {
    accessSync(memory, constants.W_OK);
    return memory;
  } catch {
    return tmpdir();
  }
}

function temporaryFiles(): { readonly files: SqliteFiles; readonly remove: () => void } {
  const folder = mkdtempSync(join(quickFolder(), "ichido-adapter-"));
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

/** Servers of one framework on one database. Those that nobody kills serve every case that runs meanwhile. */
interface Company {
  readonly files: SqliteFiles;
  readonly committed: ReturnType<typeof transactionalEffects>;
  readonly children: Child[];
  readonly lasting: Promise<ServerProcess>[];
  close(): Promise<void>;
}

async function openCompany(): Promise<Company> {
  const { files, remove } = temporaryFiles();
  await (await openSqliteStore(files.database, { migrate: true })).close();
  const committed = transactionalEffects(files.database);
  const children: Child[] = [];
  return {
    files,
    committed,
    children,
    lasting: [],
    async close() {
      await Promise.all(children.map((child) => child.stop(1_000)));
      committed.close();
      remove();
    },
  };
}

async function startServer(
  framework: FrameworkName,
  { files, children }: Company,
  { faults, ...engine }: ProcessOptions,
): Promise<ServerProcess> {
  const child = await spawnChild(new URL("server.child.ts", import.meta.url), {
    args: [framework, JSON.stringify(files), JSON.stringify(engine)],
    env: { ICHIDO_FAULTS: faults, NODE_ENV: "test" },
  });
  children.push(child);
  const [, port] = await child.waitFor(/^listening on (\d+)$/, 60_000);
  return {
    port: Number(port),
    kill: async () => void (await child.kill()),
    stop: async () => void (await child.stop()),
  };
}

function sqliteProcesses(framework: FrameworkName): () => Promise<ServerProcesses> {
  let opened: Promise<Company> | undefined;
  let cases = 0;
  return async () => {
    cases += 1;
    opened ??= openCompany();
    const company = await opened;
    const tally = randomUUID();
    let lastingOfCase = 0;
    return {
      tally,
      effects: () => filedEffects(company.files.effects).count(tally),
      arrivals: () => filedEffects(company.files.arrivals).count(tally),
      committedEffects: () => company.committed.count(tally),
      start(options) {
        if (options !== undefined) return startServer(framework, company, options);
        const server = (company.lasting[lastingOfCase] ??= startServer(framework, company, {}));
        lastingOfCase += 1;
        return server;
      },
      async close() {
        cases -= 1;
        if (cases > 0) return;
        opened = undefined;
        await company.close();
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
