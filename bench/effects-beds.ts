/** Where effects are measured: a database of its own, the store on it, and the minimum written by hand. */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Store } from "ichido";
import { postgresStore } from "ichido/postgres";
import { sqliteStore } from "ichido/sqlite";
import { nodeSqliteTransactions, pgTransactions } from "ichido/transactions";
import type { TransactionRunner } from "ichido/transactions";
import { Pool } from "pg";
import { dbosWorkflows, type Workflows } from "./effects-dbos.ts";

export interface Bed {
  readonly name: string;
  readonly store: Store;
  readonly runner: TransactionRunner<unknown>;
  /** One row under a key of its own, committed. */
  keyedInsert(): Promise<unknown>;
  dbos?(stepsEach: number): Promise<Workflows>;
  close(): Promise<void>;
}

const poolMax = 8;
export const stockRows = 1_000;

export async function postgresBed(server: string, options: { readonly prepare?: false } = {}): Promise<Bed> {
  const admin = new Pool({ connectionString: server, max: 1 });
  const names: string[] = [];
  const create = async (): Promise<string> => {
    const name = `ichido_bench_${randomUUID().replaceAll("-", "")}`;
    await admin.query(`CREATE DATABASE ${name}`);
    names.push(name);
    const url = new URL(server);
    url.pathname = `/${name}`;
    return url.href;
  };
  const pool = new Pool({ connectionString: await create(), max: poolMax });
  pool.on("error", () => {});
  const store = postgresStore(pool, options);
  await store.migrate();
  await pool.query("CREATE TABLE orders (id uuid PRIMARY KEY, amount integer)");
  await pool.query(
    "CREATE TABLE order_lines (order_id uuid, line integer, amount integer, PRIMARY KEY (order_id, line))",
  );
  await pool.query("CREATE TABLE stock (id integer PRIMARY KEY, left_over integer NOT NULL)");
  await pool.query(`INSERT INTO stock SELECT id, 1000000 FROM generate_series(0, ${stockRows - 1}) id`);
  return {
    name: options.prepare === false ? "PostgreSQL, nothing prepared" : "PostgreSQL",
    store,
    runner: pgTransactions(pool),
    keyedInsert: () =>
      pool.query("INSERT INTO orders (id, amount) VALUES ($1, $2) ON CONFLICT DO NOTHING", [randomUUID(), 1_999]),
    // Once: it is one per process, and knows nothing of how our statements travel.
    ...(options.prepare !== false && { dbos: async (stepsEach: number) => dbosWorkflows(await create(), stepsEach) }),
    async close() {
      await store.close();
      await pool.end();
      for (const name of names) await admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      await admin.end();
    },
  };
}

export async function sqliteBed(): Promise<Bed> {
  const folder = mkdtempSync(join(tmpdir(), "ichido-bench-"));
  const database = new DatabaseSync(join(folder, "shop.db"));
  const store = sqliteStore(database);
  await store.migrate();
  database.exec("CREATE TABLE orders (id text PRIMARY KEY, amount integer)");
  database.exec("CREATE TABLE order_lines (order_id text, line integer, amount integer, PRIMARY KEY (order_id, line))");
  database.exec("CREATE TABLE stock (id integer PRIMARY KEY, left_over integer NOT NULL)");
  const stock = database.prepare("INSERT INTO stock VALUES (?, 1000000)");
  for (let id = 0; id < stockRows; id += 1) stock.run(id);
  const insert = database.prepare("INSERT INTO orders (id, amount) VALUES (?, ?) ON CONFLICT DO NOTHING");
  return {
    name: "SQLite",
    store,
    runner: nodeSqliteTransactions(database),
    keyedInsert: async () => insert.run(randomUUID(), 1_999),
    async close() {
      await store.close();
      database.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
