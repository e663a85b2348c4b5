/** A million records on a private PostgreSQL, with what requests would have left beside them: labels, attempts, charges. */
import { postgresStore, type PostgresStore } from "ichido/postgres";
import type { Pool } from "pg";
import { startPostgres } from "../../scripts/services/postgres.ts";
import { openPostgres } from "../http/drivers.ts";
import { fill } from "./fill.ts";
import { nameOf, type Level } from "./level.ts";
import { postgresPlaceAt } from "./postgres.ts";

/** Records of one customer. */
export const perCustomer = 4;
const batchMax = 5_000;
const turns = 60;
const failedMax = 3;
const boundMs = 300;

/** Only reading is measured: what is filled need not survive. */
const settings = { shared_buffers: "256MB", max_wal_size: "4GB", maintenance_work_mem: "256MB", autovacuum: "off" };

export interface Furnished {
  readonly store: PostgresStore;
  readonly pool: Pool;
  readonly version: string;
  /** A record's number, from 1: another one each turn. */
  readonly place: (turn: number) => number;
  readonly close: () => Promise<void>;
}

async function label(pool: Pool, schema: string): Promise<void> {
  const numbered = `select key, scope_hash, life, row_number() over (order by key) as i from ${schema}.ichido_records`;
  await pool.query(`update ${schema}.ichido_records r
    set labels = jsonb_build_object('customer', 'cus_' || (n.i / ${perCustomer}), 'order', 'ord_' || n.i)
    from (${numbered}) n where n.key = r.key and n.scope_hash = r.scope_hash`);
  await pool.query(`vacuum (full, analyze) ${schema}.ichido_records`);
  await pool.query(`insert into ${schema}.ichido_resources (kind, id, key, scope_hash, life, ordinal)
    select 'charge', 'ch_' || n.i, n.key, n.scope_hash, n.life, 1 from (${numbered}) n`);
}

/** By the store's own verb, page by page: how the log lies there is its own matter. */
async function log(store: PostgresStore, rows: number): Promise<void> {
  let cursor: string | undefined;
  let number = 0;
  do {
    const page = await store.list({ limit: 1_000, ...(cursor !== undefined && { cursor }) });
    const notes = page.records.map(({ identity, fence }) => ({
      identity,
      number: (number += 1),
      outcome: "executed" as const,
      // Spread over a day, the last ones now.
      agoMs: Math.floor((86_400_000 * (rows - number)) / rows),
      tookMs: 1,
      status: 201,
      attempt: 1,
      fence,
      keepMs: 86_400_000,
    }));
    for (let at = 0; at < notes.length; at += batchMax)
      await store.log({ process: "host:1", notes: notes.slice(at, at + batchMax), suspectWithinMs: 0 });
    ({ cursor } = page);
  } while (cursor !== undefined);
}

export async function furnish(rows: number): Promise<Furnished> {
  const level: Level = { store: "postgres", shape: "random", rows };
  const schema = nameOf(level);
  const server = await startPostgres({ settings });
  const place = await postgresPlaceAt(server.url);
  const pool = await openPostgres(server.url);
  const store = postgresStore(pool, { schema, callTimeoutMs: 60_000 });
  await fill(place, level, () => undefined);
  await label(pool, schema);
  await log(store, rows);
  await pool.query("vacuum (analyze)");
  await pool.query("checkpoint");
  // As engines do, once a minute, for as long as the records were made.
  for (let look = 0; look <= rows / 200_000 + 1; look += 1) await store.tick({ intervalMs: 60_000 });
  return {
    store,
    pool,
    version: place.version,
    place: (turn) => 1 + ((turn * 7_919) % (rows - perCustomer)),
    async close() {
      await store.close();
      await pool.end();
      await place.close();
      await server.stop();
    },
  };
}

/** A row of the table: median, 95th percentile, longest. True where the 95th percentile is within the bound, and none failed. */
export async function timed(name: string, ask: (turn: number) => Promise<unknown>): Promise<boolean> {
  const took: number[] = [];
  let failed = 0;
  for (let turn = 0; turn < turns; turn += 1) {
    const startedMs = performance.now();
    await ask(turn).catch(() => (failed += 1));
    took.push(performance.now() - startedMs);
    // What takes so long is known to be too slow.
    if (failed >= failedMax) break;
  }
  took.sort((one, other) => one - other);
  const at = (part: number): number => took[Math.min(took.length - 1, Math.floor(took.length * part))] ?? 0;
  const times = [at(0.5), at(0.95), at(1)].map((ms) => ms.toFixed(1));
  console.log(`| ${name}${failed > 0 ? ` (${failed} of ${took.length} failed)` : ""} | ${times.join(" | ")} |`);
  return failed === 0 && at(0.95) <= boundMs;
}

export const tableHead = "| asked | median ms | 95th percentile ms | longest ms |\n|---|---|---|---|";
