/**
 * The PostgreSQL store beside two hand-written minimums, in turns of one run on one pool:
 *
 *     node --conditions=ichido-source bench/stores/postgres.ts [postgres://postgres@127.0.0.1:5432] [seconds a turn]
 *
 * `same statements`: what the store sends, by a bare `pool.query`, one by one. `lean upsert`: another protocol, a smaller
 * table and one plain upsert, without steps, doubt, audit or guarded expiry.
 * Read the ratios; the figures themselves are those of one machine on one day.
 */
import { createHash, randomBytes } from "node:crypto";
import { postgresStore } from "ichido/postgres";
import pg from "pg";

const server = new URL(process.argv[2] ?? "postgres://postgres@127.0.0.1:5432/postgres");
const turnMs = Number(process.argv[3] ?? 1.5) * 1_000;
const turns = 5;
const connections = 10;
const body = Buffer.from(JSON.stringify({ id: "pay_1", amount: 1_999, note: "x".repeat(400) }));
const scopeHash = createHash("sha256").update("bench").digest();
const hash = createHash("sha256").update("content").digest();
const headers = '[["content-type","application/json"]]';

interface Subject {
  readonly name: string;
  claimAndComplete(key: string): Promise<void>;
  replay(key: string): Promise<void>;
}

type Store = ReturnType<typeof postgresStore>;
type Claiming = Parameters<Store["claim"]>[0];

function viaStore(name: string, store: Store): Subject {
  const response = {
    kind: "full" as const,
    status: 201,
    headers: [["content-type", "application/json"]] as const,
    body,
  };
  const request = (key: string): Claiming => ({
    identity: { key: key as Claiming["identity"]["key"], scopeHash, tenant: "t", principal: "p", operation: "bench" },
    owner: randomBytes(16).toString("hex") as Claiming["owner"],
    fingerprint: { version: 1, raw: hash, canonical: hash },
    leaseMs: 30_000,
    retentionMs: 86_400_000,
    takeover: "lapsed" as const,
  });
  return {
    name,
    async claimAndComplete(key) {
      const asked = request(key);
      const claim = await store.claim(asked);
      if (claim.outcome !== "granted") throw new Error(claim.outcome);
      const done = await store.complete({ ...asked, fence: claim.fence, response });
      if (done !== "ok") throw new Error(done);
    },
    async replay(key) {
      const claim = await store.claim(request(key));
      if (claim.outcome !== "completed") throw new Error(claim.outcome);
    },
  };
}

const claimSql =
  "select * from ichido_claim($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11::bigint[],$12::bigint[],$13,$14,$15::integer)";
const completeSql =
  "select * from ichido_complete($1,$2,$3,$4::bigint[],$5,$6::integer[],$7,$8::integer[],$9::integer[],$10,$11,$12::integer)";

function sameStatements(pool: pg.Pool): Subject {
  const claim = async (key: string, owner: string): Promise<unknown[]> => {
    const identity = [[key], [scopeHash], ["t"], ["p"], ["bench"]];
    const values = [
      ...identity,
      [1],
      [hash],
      [hash],
      [null],
      [owner],
      [30_000],
      [86_400_000],
      ["lapsed"],
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
      const record = [[key], [scopeHash], [owner], [row[2]]];
      const values = [...record, ["full"], [201], [headers], [1], [body.length], body, "bench", 1_000];
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
    (await pool.query({ text: leanClaim, values: [scopeHash, key, hash, owner], rowMode: "array" }))
      .rows[0] as unknown[];
  return {
    name: "lean upsert",
    async claimAndComplete(key) {
      const owner = randomBytes(16).toString("hex");
      const [state, , token] = await claim(key, owner);
      if (state !== 1) throw new Error(String(state));
      const values = [scopeHash, key, token, owner, headers, body];
      if ((await pool.query({ text: leanComplete, values })).rowCount !== 1) throw new Error("stale");
    },
    async replay(key) {
      const [state] = await claim(key, randomBytes(16).toString("hex"));
      if (state !== 2) throw new Error(String(state));
    },
  };
}

/** Calls a second, with `concurrent` callers in a closed loop. */
async function measure(concurrent: number, work: () => Promise<void>): Promise<number> {
  const startMs = performance.now();
  const endMs = startMs + turnMs;
  let calls = 0;
  await Promise.all(
    Array.from({ length: concurrent }, async () => {
      while (performance.now() < endMs) {
        await work();
        calls += 1;
      }
    }),
  );
  return (calls * 1_000) / (performance.now() - startMs);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function rotated<Each>(values: readonly Each[], by: number): Each[] {
  const start = by % values.length;
  return [...values.slice(start), ...values.slice(0, start)];
}

function report(name: string, perSecond: number, ratio: number): void {
  console.log(`  ${name.padEnd(18)} ${perSecond.toFixed(0).padStart(7)}   ${ratio.toFixed(2)}`);
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
    viaStore("ichido", grouped),
    viaStore("ichido, group off", postgresStore(pool, { group: false })),
    viaStore("ichido, prepare", postgresStore(pool, { prepare: true })),
  ];
  let next = 0;
  for (const subject of subjects) {
    for (let index = 0; index < 200; index += 1) await subject.claimAndComplete(`${subject.name}-${index}`);
  }
  for (const what of ["claim+complete", "replay"] as const) {
    // Alone, the subjects take turns call by call: whatever else the machine does hits all of them alike.
    const latencies = new Map(subjects.map((subject) => [subject.name, [] as number[]]));
    const endMs = performance.now() + turnMs * turns;
    for (let round = 0; performance.now() < endMs; round += 1) {
      for (const subject of rotated(subjects, round)) {
        next += 1;
        const startMs = performance.now();
        if (what === "replay") await subject.replay(`${subject.name}-${next % 200}`);
        else await subject.claimAndComplete(`${subject.name}-alone-${next}`);
        latencies.get(subject.name)?.push(performance.now() - startMs);
      }
    }
    const rounds = latencies.get("same statements")?.length ?? 0;
    console.log(`\n${what}, 1 concurrent (median of ${rounds} calls, per second; ratio to same statements)`);
    const baseline = median(latencies.get("same statements") ?? []);
    for (const [name, values] of latencies) report(name, 1_000 / median(values), baseline / median(values));
  }
  for (const concurrent of [64]) {
    for (const what of ["claim+complete", "replay"] as const) {
      const figures = new Map(subjects.map((subject) => [subject.name, [] as number[]]));
      for (let turn = 0; turn < turns; turn += 1) {
        // Another order each turn, so that nobody always runs after the same one.
        for (const subject of rotated(subjects, turn)) {
          const work = (): Promise<void> => {
            next += 1;
            return what === "replay"
              ? subject.replay(`${subject.name}-${next % 200}`)
              : subject.claimAndComplete(`${subject.name}-${turn}-${concurrent}-${next}`);
          };
          figures.get(subject.name)?.push(await measure(concurrent, work));
        }
      }
      console.log(
        `\n${what}, ${concurrent} concurrent (median of ${turns} turns, per second; ratio to same statements)`,
      );
      const baseline = figures.get("same statements") ?? [];
      for (const [name, values] of figures) {
        const ratio = median(values.map((value, turn) => value / (baseline[turn] ?? Number.NaN)));
        report(name, median(values), ratio);
      }
    }
  }
} finally {
  await pool.end();
  await admin.query(`drop database ${database} with (force)`);
  await admin.end();
}
