/**
 * How long a person on call waits at a million records on PostgreSQL: `why`, `keys list` by label, `stats`.
 * `npm run bench:ask`; `-- --rows 1e5` for fewer. A private server that is started and ended.
 */
import { parseArgs } from "node:util";
import { why } from "ichido/operations";
import { postgresStore } from "ichido/postgres";
import { startPostgres } from "../../scripts/services/postgres.ts";
import { openPostgres } from "../http/drivers.ts";
import { surroundings } from "../http/surroundings.ts";
import { fill } from "./fill.ts";
import { keyOf } from "./keys.ts";
import { nameOf, type Level } from "./level.ts";
import { postgresPlaceAt } from "./postgres.ts";

const { values } = parseArgs({ options: { rows: { type: "string", default: "1e6" } } });
const rows = Math.round(Number(values.rows));
const level: Level = { store: "postgres", shape: "random", rows };
const schema = nameOf(level);
const turns = 60;
const boundMs = 300;
/** Records of one customer. */
const perCustomer = 4;

/** Only reading is measured: what is filled need not survive. */
const settings = { shared_buffers: "256MB", max_wal_size: "4GB", maintenance_work_mem: "256MB", autovacuum: "off" };
const server = await startPostgres({ settings });
const place = await postgresPlaceAt(server.url);
const pool = await openPostgres(server.url);
const store = postgresStore(pool, { schema, callTimeoutMs: 60_000 });

/** What requests would have left beside their records: labels, an attempt each, a charge each. */
async function furnish(): Promise<void> {
  const numbered = `select key, scope_hash, life, row_number() over (order by key) as i from ${schema}.ichido_records`;
  await pool.query(`update ${schema}.ichido_records r
    set labels = jsonb_build_object('customer', 'cus_' || (n.i / ${perCustomer}), 'order', 'ord_' || n.i)
    from (${numbered}) n where n.key = r.key and n.scope_hash = r.scope_hash`);
  await pool.query(`vacuum (full, analyze) ${schema}.ichido_records`);
  await pool.query(`insert into ${schema}.ichido_attempts
      (written_at, key, scope_hash, operation, at, took_us, outcome, observed, status, attempt, fence, number, process)
    select r.created_at, r.key, r.scope_hash, r.operation, r.created_at, 1000, 'executed', false, 201, 1, r.fence,
      r.fence, 'host:1' from ${schema}.ichido_records r`);
  await pool.query(`insert into ${schema}.ichido_resources (kind, id, key, scope_hash, life, ordinal)
    select 'charge', 'ch_' || n.i, n.key, n.scope_hash, n.life, 1 from (${numbered}) n`);
  await pool.query(`vacuum (analyze) ${schema}.ichido_records, ${schema}.ichido_attempts, ${schema}.ichido_resources`);
  await pool.query("checkpoint");
}

async function timed(name: string, ask: (turn: number) => Promise<unknown>): Promise<boolean> {
  const took: number[] = [];
  for (let turn = 0; turn < turns; turn += 1) {
    const startedMs = performance.now();
    await ask(turn);
    took.push(performance.now() - startedMs);
  }
  took.sort((one, other) => one - other);
  const at = (part: number): number => took[Math.min(turns - 1, Math.floor(turns * part))] ?? 0;
  console.log(`| ${name} | ${at(0.5).toFixed(1)} | ${at(0.95).toFixed(1)} | ${took.at(-1)?.toFixed(1)} |`);
  return at(0.95) <= boundMs;
}

const place7 = (turn: number): number => 1 + ((turn * 7_919) % (rows - perCustomer));
const ichido = { store };

try {
  const { date, machine, loadBefore } = surroundings("bench:ask");
  console.log(`${date}; ${machine}; load average before ${loadBefore.toFixed(1)}; ${place.version}; ${rows} records`);
  await fill(place, level, () => undefined);
  await furnish();
  console.log("| asked | median ms | 95th percentile ms | longest ms |\n|---|---|---|---|");
  const kept = [
    await timed("why by key", (turn) => why({ ichido }, { text: keyOf("v4", place7(turn)) })),
    await timed("why by customer", (turn) =>
      why({ ichido }, { text: `cus_${Math.floor(place7(turn) / perCustomer)}` }),
    ),
    await timed("why by charge", (turn) => why({ ichido }, { text: `ch_${place7(turn)}` })),
    await timed("why of what is not there", (turn) => why({ ichido }, { text: `none_${turn}` })),
    await timed("keys list by label", (turn) =>
      store.list({ label: { name: "customer", value: `cus_${Math.floor(place7(turn) / perCustomer)}` }, limit: 100 }),
    ),
    await timed("keys list --state unknown", () => store.list({ state: "unknown", limit: 100 })),
    await timed("stats", () => store.stats()),
  ];
  if (kept.includes(false)) process.exitCode = 1;
} finally {
  await store.close();
  await pool.end();
  await place.close();
  await server.stop();
}
