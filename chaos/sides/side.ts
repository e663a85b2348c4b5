/** One process's way to the store: its records, its transactions, and a place for whoever does without ichido. */
import type { Store } from "../../packages/ichido/src/core/contract/store.ts";
import type { TransactionHandle, TransactionRunner } from "../../packages/ichido/src/core/contract/transaction.ts";
import type { StoreName } from "../setup.ts";

export interface Row {
  readonly intent: string;
  readonly effect: string;
}

/** Reads and writes, and nothing that makes the two one. */
export interface Notes {
  read(name: string): Promise<string | undefined>;
  write(name: string, text: string): Promise<void>;
}

export interface Side {
  readonly store: Store;
  /** Absent where the store has no transactions. */
  readonly runner: TransactionRunner<unknown> | undefined;
  readonly notes: Notes;
  /** Creates the tables: records, effects, notes. */
  prepare(): Promise<void>;
  rows(): Promise<readonly Row[]>;
  /** Removes rows, by the names of their effects. */
  forget(effects: readonly string[]): Promise<void>;
  /** An order to this process's own connection, where the store is inside the process. */
  order?(words: readonly string[]): void;
}

export function runnerOf({ runner }: Side): TransactionRunner<unknown> {
  if (runner === undefined) throw new TypeError("this store has no transactions");
  return runner;
}

const tables = [
  "CREATE TABLE IF NOT EXISTS effects (intent varchar(100) NOT NULL, effect varchar(100) NOT NULL)",
  "CREATE TABLE IF NOT EXISTS notes (name varchar(200) NOT NULL, text text NOT NULL)",
];

/** With the placeholders of the dialect. */
export function placed({ dialect }: TransactionHandle, sql: string): string {
  let place = 0;
  return dialect === "postgres" ? sql.replaceAll("?", () => `$${(place += 1)}`) : sql;
}

const forgottenAtOnce = 500;

/** Nothing is unique here: a second effect must show. */
export async function addRow(handle: TransactionHandle, row: Row): Promise<void> {
  const sql = placed(handle, "INSERT INTO effects (intent, effect) VALUES (?, ?)");
  await handle.execute(sql, [row.intent, row.effect]);
}

export function sqlSide(
  store: Store & { migrate(): Promise<unknown> },
  runner: TransactionRunner<unknown>,
  order?: Side["order"],
): Side {
  const run = async (
    sql: string,
    ...values: readonly string[]
  ): Promise<readonly Readonly<Record<string, unknown>>[]> =>
    (await runner.run((_tx, handle) => handle.execute(placed(handle, sql), values), { unwatched: true })).rows;
  return {
    store,
    runner,
    notes: {
      async read(name) {
        const [row] = await run("SELECT text FROM notes WHERE name = ?", name);
        return row === undefined ? undefined : String(row["text"]);
      },
      async write(name, text) {
        await run("INSERT INTO notes (name, text) VALUES (?, ?)", name, text);
      },
    },
    async prepare() {
      await store.migrate();
      for (const table of tables) await run(table);
    },
    async rows() {
      const rows = await run("SELECT intent, effect FROM effects");
      return rows.map((row) => ({ intent: String(row["intent"]), effect: String(row["effect"]) }));
    },
    async forget(effects) {
      for (let from = 0; from < effects.length; from += forgottenAtOnce) {
        const some = effects.slice(from, from + forgottenAtOnce);
        await run(`DELETE FROM effects WHERE effect IN (${some.map(() => "?").join(", ")})`, ...some);
      }
    },
    ...(order === undefined ? {} : { order }),
  };
}

/** Only the driver that is needed is loaded, inside of each: most processes live for a few seconds. */
export async function openSide(name: StoreName, url: string): Promise<Side> {
  switch (name) {
    case "sqlite":
      return (await import("./sqlite.ts")).openSqlite(url);
    case "postgres":
    case "pgbouncer":
    case "postgres-sync":
    case "postgres-async":
      return (await import("./postgres.ts")).openPostgres(url);
    case "postgres-js":
      return (await import("./postgres-js.ts")).openPostgresJs(url);
    case "mariadb":
      return (await import("./mariadb.ts")).openMariadb(url);
    case "redis":
    case "redis-replica":
      return (await import("./redis.ts")).openRedis(url);
    case "redis-sentinel":
      return (await import("./redis.ts")).openRedisSentinel(url);
    case "redis-cluster":
      return (await import("./redis.ts")).openRedisCluster(url);
  }
}
