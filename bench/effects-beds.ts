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
import { Pool, type PoolClient } from "pg";
import { dbosWorkflows, type Workflows } from "./effects-dbos.ts";

export interface Bed {
  readonly name: string;
  readonly store: Store;
  readonly runner: TransactionRunner<unknown>;
  /** In the driver's own words, on the transaction that it is given. */
  readonly business: Readonly<Record<"one insert" | "an order, two lines and their stock", (tx: unknown) => unknown>>;
  /** Between BEGIN and COMMIT, with nothing but the driver. */
  byHand(business: (tx: unknown) => unknown): Promise<void>;
  /** One row under a key of its own, committed. */
  keyedInsert(): Promise<unknown>;
  dbos?(stepsEach: number): Promise<Workflows>;
  close(): Promise<void>;
}

const poolMax = 8;
const stockRows = 1_000;
const anyStock = (): number => Math.floor(Math.random() * stockRows);

function postgresBusiness(): Bed["business"] {
  const order = "INSERT INTO orders (id, amount) VALUES ($1, $2)";
  const line = "INSERT INTO order_lines (order_id, line, amount) VALUES ($1, $2, $3)";
  const stock = "UPDATE stock SET left_over = left_over - 1 WHERE id = $1";
  return {
    "one insert": (tx) => (tx as PoolClient).query(order, [randomUUID(), 1_999]),
    async "an order, two lines and their stock"(tx) {
      const client = tx as PoolClient;
      const id = randomUUID();
      await client.query(order, [id, 1_999]);
      for (const number of [1, 2]) await client.query(line, [id, number, 999]);
      await client.query(stock, [anyStock()]);
    },
  };
}

function sqliteBusiness(database: DatabaseSync): Bed["business"] {
  const order = database.prepare("INSERT INTO orders (id, amount) VALUES (?, ?)");
  const line = database.prepare("INSERT INTO order_lines (order_id, line, amount) VALUES (?, ?, ?)");
  const stock = database.prepare("UPDATE stock SET left_over = left_over - 1 WHERE id = ?");
  return {
    "one insert": () => order.run(randomUUID(), 1_999),
    "an order, two lines and their stock"() {
      const id = randomUUID();
      order.run(id, 1_999);
      for (const number of [1, 2]) line.run(id, number, 999);
      stock.run(anyStock());
    },
  };
}

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
    business: postgresBusiness(),
    async byHand(business) {
      const client = await pool.connect();
      try {
        await client.query("BEGIN");
        await business(client);
        await client.query("COMMIT");
      } finally {
        client.release();
      }
    },
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

export async function sqliteBed(options: { readonly shareCommits?: true } = {}): Promise<Bed> {
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
    name: options.shareCommits === true ? "SQLite, shared commits" : "SQLite",
    store,
    runner: nodeSqliteTransactions(database, options),
    business: sqliteBusiness(database),
    async byHand(business) {
      database.exec("BEGIN IMMEDIATE");
      business(database);
      database.exec("COMMIT");
    },
    keyedInsert: async () => insert.run(randomUUID(), 1_999),
    async close() {
      await store.close();
      database.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
