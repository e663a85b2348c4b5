/**
 * The PostgreSQL store beside two hand-written minimums, in turns of one run on one pool:
 *
 *     node --conditions=ichido-source bench/stores/postgres.ts [postgres://postgres@127.0.0.1:5432] [seconds a turn]
 *
 * `same statements`: what the store sends, by a bare `pool.query`, one by one. `lean upsert`: another protocol, a smaller
 * table and one plain upsert, without steps, doubt, audit or guarded expiry.
 * Read the ratios; the figures themselves are those of one machine on one day.
 */
import { randomBytes } from "node:crypto";
import { postgresStore } from "ichido/postgres";
import pg from "pg";
import { compareStores, sampleBody, sampleHash, sampleScopeHash, storeSubject, type Subject } from "../measure.ts";

const server = new URL(process.argv[2] ?? "postgres://postgres@127.0.0.1:5432/postgres");
const turnMs = Number(process.argv[3] ?? 1.5) * 1_000;
const connections = 10;
const headers = '[["content-type","application/json"]]';

const claimSql =
  "select * from ichido_claim($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11::bigint[],$12::bigint[],$13,$14::boolean[],$15,$16::integer)";
const completeSql =
  "select * from ichido_complete($1,$2,$3,$4::bigint[],$5,$6::integer[],$7,$8::integer[],$9::integer[],$10,$11,$12::integer)";

function sameStatements(pool: pg.Pool): Subject {
  const claim = async (key: string, owner: string): Promise<unknown[]> => {
    const identity = [[key], [sampleScopeHash], ["t"], ["p"], ["bench"]];
    const values = [
      ...identity,
      [1],
      [sampleHash],
      [sampleHash],
      [null],
      [owner],
      [30_000],
      [86_400_000],
      ["lapsed"],
      [false],
      [null],
      1_000,
    ];
    return (await pool.query({ text: claimSql, values, rowMode: "array" })).rows[0] as unknown[];
  };
  return {
    name: "same statements",
    async claimAndComplete(key) {
      const owner = randomBytes(16).toString("hex");
      const row = await claim(key, owner);
      if (row[1] !== "granted") throw new Error(String(row[1]));
      const record = [[key], [sampleScopeHash], [owner], [row[2]]];
      const values = [...record, ["full"], [201], [headers], [1], [sampleBody.length], sampleBody, "bench", 1_000];
      if ((await pool.query({ text: completeSql, values, rowMode: "array" })).rows.length !== 1)
        throw new Error("stale");
    },
    async replay(key) {
      const row = await claim(key, randomBytes(16).toString("hex"));
      if (row[1] !== "completed") throw new Error(String(row[1]));
    },
  };
}

const leanTable = `create table lean (scope bytea not null, k text collate "C" not null, state smallint not null,
  token bigint not null, attempt uuid not null, fp bytea not null, lease_until timestamptz, expires_at timestamptz not null,
  status integer, headers text, resp bytea, primary key (k, scope)) with (fillfactor = 85);
  create index on lean (expires_at)`;
const leanClaim = `with c as materialized (select clock_timestamp() n),
  seen as (select r.* from lean r, c where r.scope = $1 and r.k = $2 and (r.state = 2 or r.fp <> $3
    or (r.state = 1 and r.attempt <> $4::uuid and r.lease_until > c.n))),
  up as (insert into lean as r (scope, k, state, token, attempt, fp, lease_until, expires_at)
    select $1, $2, 1, (extract(epoch from n) * 1000000)::bigint, $4::uuid, $3, n + interval '30 s', n + interval '1 day'
    from c where not exists (select from seen)
    on conflict (k, scope) do update set token = greatest(r.token + 1, excluded.token), attempt = excluded.attempt,
      lease_until = excluded.lease_until
    where r.fp = excluded.fp and (r.state = 0 or (r.state = 1 and r.lease_until <= clock_timestamp()))
    returning r.*)
  select state, attempt, token, status, headers, resp from (select * from up union all select * from seen) q`;
const leanComplete = `update lean set state = 2, status = 201, headers = $5, resp = $6, lease_until = null
  where k = $2 and scope = $1 and state = 1 and token = $3 and attempt = $4::uuid`;

function leanUpsert(pool: pg.Pool): Subject {
  const claim = async (key: string, owner: string): Promise<unknown[]> =>
    (await pool.query({ text: leanClaim, values: [sampleScopeHash, key, sampleHash, owner], rowMode: "array" }))
      .rows[0] as unknown[];
  return {
    name: "lean upsert",
    async claimAndComplete(key) {
      const owner = randomBytes(16).toString("hex");
      const [state, , token] = await claim(key, owner);
      if (state !== 1) throw new Error(String(state));
      const values = [sampleScopeHash, key, token, owner, headers, sampleBody];
      if ((await pool.query({ text: leanComplete, values })).rowCount !== 1) throw new Error("stale");
    },
    async replay(key) {
      const [state] = await claim(key, randomBytes(16).toString("hex"));
      if (state !== 2) throw new Error(String(state));
    },
  };
}

const database = `ichido_bench_${randomBytes(4).toString("hex")}`;
const admin = new pg.Client({ connectionString: server.href });
await admin.connect();
await admin.query(`create database ${database}`);
const url = new URL(server.href);
url.pathname = `/${database}`;
const pool = new pg.Pool({ connectionString: url.href, max: connections });
pool.on("error", (error) => console.error(error.message));
try {
  const grouped = postgresStore(pool);
  await grouped.migrate();
  await pool.query(leanTable);
  const { rows } = await pool.query(
    "select version(), current_setting('fsync') f, current_setting('synchronous_commit') s",
  );
  console.log(`${String(rows[0].version).split(" on ")[0]}, fsync ${rows[0].f}, synchronous_commit ${rows[0].s}`);
  const subjects = [
    sameStatements(pool),
    leanUpsert(pool),
    storeSubject("ichido", grouped),
    storeSubject("ichido, group off", postgresStore(pool, { group: false })),
    storeSubject("ichido, prepare", postgresStore(pool, { prepare: true })),
  ];
  await compareStores({ title: "postgres", subjects, baseline: "same statements", turnMs });
} finally {
  await pool.end();
  await admin.query(`drop database ${database} with (force)`);
  await admin.end();
}
