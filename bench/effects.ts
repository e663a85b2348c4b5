/**
 * What a recorded step and a joined transaction cost, beside what they cannot cost less than, in turns of one run:
 *
 *     node --conditions=ichido-source bench/effects.ts [postgres://postgres@127.0.0.1:5432/postgres] [rounds]
 *
 * Read the ratios; the figures themselves are those of one machine on one day.
 */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createIchido } from "ichido";
import type { Context, Ichido, Store, TransactionHandle } from "ichido";
import { postgresStore } from "ichido/postgres";
import { sqliteStore } from "ichido/sqlite";
import { nodeSqliteTransactions, pgTransactions } from "ichido/transactions";
import type { TransactionRunner } from "ichido/transactions";
import { Pool } from "pg";

const server = process.argv[2] ?? "postgres://postgres@127.0.0.1:5432/postgres";
const rounds = Number(process.argv[3] ?? 300);
const warmUps = 50;
const stepsEach = 5;
const encoder = new TextEncoder();

interface Bed {
  readonly name: string;
  readonly store: Store;
  readonly runner: TransactionRunner<unknown>;
  /** One row under a key of its own, committed. */
  readonly keyedInsert: () => Promise<unknown>;
  close(): Promise<void>;
}

function insertOrder(handle: TransactionHandle): Promise<unknown> {
  const places = handle.dialect === "postgres" ? "$1, $2" : "?, ?";
  return handle.execute(`INSERT INTO orders (id, amount) VALUES (${places})`, [randomUUID(), 1_999]);
}

function subjectsOf({ runner, keyedInsert }: Bed, ichido: Ichido): Readonly<Record<string, () => Promise<number>>> {
  const routes = {
    lease: ichido.route({ operation: "order.create" }),
    transaction: ichido.route({ operation: "order.create", mode: "transaction" }),
  };

  async function keyed(mode: keyof typeof routes, handler: (context: Context) => Promise<unknown>): Promise<void> {
    const key = randomUUID();
    const decision = await ichido.decide(
      {
        method: "POST",
        target: "/orders",
        headerLines: (name) => (name === "idempotency-key" ? [key] : ["application/json"]),
        body: async () => ({ kind: "bytes", bytes: encoder.encode('{"amount":1999}') }),
        native: undefined,
      },
      routes[mode],
    );
    if (decision.kind !== "execute") throw new Error(`expected to run, got ${decision.kind}`);
    await handler(decision.execution.context);
    await decision.execution.settle({
      kind: "answered",
      response: { status: 201, headers: [], body: encoder.encode("{}") },
    });
  }

  const ordering = (context: Context): Promise<unknown> =>
    context.transaction(async (_tx, handle) => {
      await insertOrder(handle);
      return { status: 201, body: {} };
    });
  const timed = async (work: () => Promise<unknown>): Promise<number> => {
    const from = performance.now();
    await work();
    return performance.now() - from;
  };
  return {
    "keyed insert by hand": () => timed(keyedInsert),
    "ctx.step": async () => {
      let ms = 0;
      await keyed("lease", async (context) => {
        ms = await timed(async () => {
          for (let step = 0; step < stepsEach; step += 1) await context.step(`call ${step}`, () => "ch_1");
        });
      });
      return ms / stepsEach;
    },
    "transaction by hand": () => timed(() => runner.run((_tx, handle) => insertOrder(handle))),
    "transaction mode": () => timed(() => keyed("transaction", ordering)),
    "lease mode, ctx.transaction": () => timed(() => keyed("lease", ordering)),
  };
}

/** The lower fifth: on a busy machine the rest measures the neighbours. */
function typical(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 5)] ?? Number.NaN;
}

async function measure(bed: Bed): Promise<void> {
  const { store, runner } = bed;
  const ichido = createIchido({
    store,
    transactions: runner,
    dangerouslyShareKeys: true,
    onUnknown: "rerun",
    sweepMs: "off",
    onEvent: () => {},
  });
  const subjects = Object.entries(subjectsOf(bed, ichido));
  const times = new Map(subjects.map(([name]) => [name, [] as number[]]));
  // One round of each after the other, so that a busy moment is busy for all of them.
  for (let round = -warmUps; round < rounds; round += 1) {
    for (const [name, run] of subjects) {
      const ms = await run();
      if (round >= 0) times.get(name)?.push(ms);
    }
  }
  await ichido.close();
  const of = (name: string): number => typical(times.get(name) ?? []);
  console.log(`\n${bed.name}, one caller, lower fifth of ${rounds} rounds`);
  for (const [name] of subjects) console.log(`  ${name.padEnd(30)} ${of(name).toFixed(3)} ms`);
  const ratio = (one: string, other: string): string => (of(one) / of(other)).toFixed(2);
  console.log(`  step / keyed insert              ${ratio("ctx.step", "keyed insert by hand")}`);
  console.log(`  transaction mode / same by hand  ${ratio("transaction mode", "transaction by hand")}`);
  console.log(`  lease mode / same by hand        ${ratio("lease mode, ctx.transaction", "transaction by hand")}`);
}

async function postgresBed(prepare: boolean): Promise<Bed> {
  const admin = new Pool({ connectionString: server, max: 1 });
  const name = `ichido_bench_${randomUUID().replaceAll("-", "")}`;
  await admin.query(`CREATE DATABASE ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  const pool = new Pool({ connectionString: url.href, max: 4 });
  pool.on("error", () => {});
  const store = postgresStore(pool, { prepare });
  await store.migrate();
  await pool.query("CREATE TABLE orders (id uuid PRIMARY KEY, amount integer)");
  return {
    name: prepare ? "PostgreSQL, prepared statements" : "PostgreSQL",
    store,
    runner: pgTransactions(pool),
    keyedInsert: () =>
      pool.query("INSERT INTO orders (id, amount) VALUES ($1, $2) ON CONFLICT DO NOTHING", [randomUUID(), 1_999]),
    async close() {
      await store.close();
      await pool.end();
      await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
      await admin.end();
    },
  };
}

async function sqliteBed(): Promise<Bed> {
  const folder = mkdtempSync(join(tmpdir(), "ichido-bench-"));
  const database = new DatabaseSync(join(folder, "shop.db"));
  const store = sqliteStore(database);
  await store.migrate();
  database.exec("CREATE TABLE orders (id text PRIMARY KEY, amount integer)");
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

for (const open of [() => postgresBed(false), () => postgresBed(true), sqliteBed]) {
  const bed = await open();
  try {
    await measure(bed);
  } finally {
    await bed.close();
  }
}
