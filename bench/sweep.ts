/**
 * Claims while a million expired rows are swept, as a ratio of p99 latencies in the same run:
 *
 *     npm run bench -- sweep.ts [rows] [sqlite | postgres]
 *
 * Without a name both; PostgreSQL when POSTGRES_URL is set.
 */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Store } from "ichido";
import { postgresStore } from "ichido/postgres";
import { openSqliteStore } from "ichido/sqlite";
import { newKey, quantile, storeSubject } from "./measure.ts";

const rows = Number(process.argv[2] ?? 1_000_000);
const only = process.argv[3];
const claimers = 8;

/** Latencies of claims until told to stop. */
async function claimUntil(store: Store, stop: () => boolean): Promise<number[]> {
  const subject = storeSubject("ichido", store);
  const latencies: number[] = [];
  await Promise.all(
    Array.from({ length: claimers }, async () => {
      while (!stop()) {
        const start = performance.now();
        await subject.claimAndComplete(newKey());
        latencies.push(performance.now() - start);
      }
    }),
  );
  return latencies;
}

async function measure(name: string, store: Store): Promise<void> {
  // Two even ticks, far enough apart for the guard to trust the clock.
  await store.tick({ intervalMs: 500 });
  let swept = 0;
  let done = false;
  const untilMs = performance.now() + 5_000;
  const before = await claimUntil(store, () => performance.now() > untilMs);
  const ticking = setInterval(() => void store.tick({ intervalMs: 500 }), 400);
  const during = claimUntil(store, () => done);
  const start = performance.now();
  for (;;) {
    const result = await store.sweep({ limit: 1_000, budgetMs: 250 });
    swept += result.deleted;
    if (result.guarded) await new Promise((resolve) => setTimeout(resolve, 200));
    else if (!result.more) break;
  }
  done = true;
  const seconds = (performance.now() - start) / 1_000;
  clearInterval(ticking);
  const [calm, busy] = [quantile(before, 0.99), quantile(await during, 0.99)];
  console.log(
    `${name}: ${swept} rows swept in ${seconds.toFixed(1)} s; claim + complete p99 ${calm.toFixed(1)} ms before, ` +
      `${busy.toFixed(1)} ms during, ratio ${(busy / calm).toFixed(2)}`,
  );
}

async function sqlite(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "ichido-bench-"));
  const path = join(folder, "keys.db");
  const store = await openSqliteStore(path, { migrate: true });
  {
    const filler = new DatabaseSync(path);
    filler.exec(`insert into ichido_records(key, scope_hash, tenant, principal, operation, fingerprint_version, fingerprint_raw,
      fingerprint_canonical, state, owner, fence, attempts, lease_us, created_us, updated_us, expires_us, response_kind,
      response_status, response_headers, response_body)
      with recursive n(i) as (select 1 union all select i + 1 from n where i < ${rows})
      select 'old-' || i, zeroblob(32), 't', 'p', 'bench', 1, zeroblob(32), zeroblob(32), 'completed', 'o', 1, 1, 0, 1, 1, 1 + i,
      'full', 201, '[]', zeroblob(200) from n`);
    filler.close();
  }
  await measure("sqlite", store);
  await store.close();
  rmSync(folder, { recursive: true, force: true });
}

if (only !== "postgres") await sqlite();

const { POSTGRES_URL } = process.env;
if (POSTGRES_URL !== undefined && only !== "sqlite") {
  const { default: pg } = await import("pg");
  const pool = new pg.Pool({ connectionString: POSTGRES_URL, max: 12 });
  const schema = `ichido_bench_${randomBytes(4).toString("hex")}`;
  await pool.query(`create schema ${schema}`);
  const store = postgresStore(pool, { schema });
  try {
    await store.migrate();
    const { rows: columns } = await pool.query<{ name: string; type: string; bare: boolean }>(
      `select a.attname as name, format_type(a.atttypid, a.atttypmod) as type, not a.attnotnull or a.atthasdef as bare
       from pg_attribute a where a.attrelid = to_regclass($1) and a.attnum > 0 and not a.attisdropped`,
      [`${schema}.ichido_records`],
    );
    const sample: Record<string, string> = {
      key: "'old-' || i",
      scope_hash: "decode(repeat('00', 32), 'hex')",
      fingerprint_raw: "decode(repeat('00', 32), 'hex')",
      fingerprint_canonical: "decode(repeat('00', 32), 'hex')",
      state: "'completed'",
      origin: "'new'",
      response_kind: "'full'",
      response_status: "201",
      response_headers: "'[]'",
      response_body: "decode(repeat('00', 200), 'hex')",
      owner: "gen_random_uuid()",
      created_at: "now() - interval '3 days'",
      updated_at: "now() - interval '3 days'",
      expires_at: "now() - interval '2 days' + i * interval '1 ms'",
    };
    const filled = columns.filter(({ name, bare }) => name in sample || !bare);
    const value = ({ name, type }: { name: string; type: string }): string =>
      sample[name] ??
      (type.includes("int") ? "1" : type === "text" ? "'bench'" : type === "boolean" ? "false" : "null");
    await pool.query(
      `insert into ${schema}.ichido_records(${filled.map(({ name }) => name).join(", ")})
       select ${filled.map(value).join(", ")} from generate_series(1, $1::int) i`,
      [rows],
    );
    await pool.query(`analyze ${schema}.ichido_records`);
    await measure("postgres", store);
  } finally {
    await store.close();
    await pool.query(`drop schema ${schema} cascade`);
    await pool.end();
  }
}
