/**
 * The MySQL store beside a hand-written minimum of the same protocol on the same pool, in turns of one run:
 *
 *     node --conditions=ichido-source bench/stores/mysql.ts [mysql://root@127.0.0.1:3306] [seconds a turn]
 *
 * Read the ratios; the figures themselves are those of one machine on one day.
 */
import { createHash, randomBytes } from "node:crypto";
import { mysqlStore } from "ichido/mysql";
import mariadb from "mariadb";
import mysql2 from "mysql2/promise";

const server = new URL(process.argv[2] ?? "mysql://root@127.0.0.1:3306");
const turnMs = Number(process.argv[3] ?? 1.5) * 1_000;
const turns = 3;
const body = Buffer.from(JSON.stringify({ id: "pay_1", amount: 1_999, note: "x".repeat(400) }));

interface Subject {
  readonly name: string;
  claimAndComplete(key: string): Promise<void>;
  replay(key: string): Promise<void>;
}

type Store = ReturnType<typeof mysqlStore>;
type Identity = Parameters<Store["find"]>[0];
type Owner = Parameters<Store["claim"]>[0]["owner"];

const scopeHash = createHash("sha256").update("bench").digest();
const hash = createHash("sha256").update("content").digest();

function ichido(store: Store): Subject {
  const response = {
    kind: "full" as const,
    status: 201,
    headers: [["content-type", "application/json"]] as const,
    body,
  };
  const request = (key: string) => ({
    identity: { key: key as Identity["key"], scopeHash, tenant: "t", principal: "p", operation: "bench" },
    owner: randomBytes(16).toString("hex") as Owner,
    fingerprint: { version: 1, raw: hash, canonical: hash },
    leaseMs: 30_000,
    retentionMs: 86_400_000,
    takeover: "lapsed" as const,
  });
  return {
    name: "ichido",
    async claimAndComplete(key) {
      const asked = request(key);
      const claim = await store.claim(asked);
      if (claim.outcome !== "granted") throw new Error(claim.outcome);
      await store.complete({ ...asked, fence: claim.fence, response });
    },
    async replay(key) {
      const claim = await store.claim(request(key));
      if (claim.outcome !== "completed") throw new Error(claim.outcome);
    },
  };
}

const now = "timestampdiff(microsecond,'1970-01-01',utc_timestamp(6))";
const take = `(fp=values(fp) and (state=0 or (state=1 and lease_us<=${now})))`;
const minimumTable = `create table minimum(scope binary(32) not null, k varbinary(255) not null, state tinyint not null,
  token bigint not null, attempt binary(16) not null, fp binary(32) not null, lease_us bigint, exp_us bigint not null,
  status smallint, headers blob, resp longblob, primary key(k,scope), key(exp_us)) engine=innodb`;
const minimumClaim = `insert into minimum(scope,k,state,token,attempt,fp,lease_us,exp_us)
  values(?,?,1,last_insert_id(${now}),?,?,${now}+30000000,${now}+86400000000)
  on duplicate key update token=if(state=1 and attempt=values(attempt),last_insert_id(token),
    if(${take},last_insert_id(greatest(token+1,${now})),token+last_insert_id(0))),
  attempt=if(${take},values(attempt),attempt),
  lease_us=if(attempt=values(attempt) and state<>2,values(lease_us),lease_us),
  state=if(attempt=values(attempt) and state<>2,1,state)`;
const minimumRead = `select state,token,attempt,fp,status,headers,resp,lease_us-${now} left_us from minimum where k=? and scope=?`;
const minimumComplete = `update minimum set state=2,status=201,headers=?,resp=?,lease_us=null
  where k=? and scope=? and state=1 and token=? and attempt=?`;
const headers = Buffer.from('[["content-type","application/json"]]');

type Query = (
  sql: string,
  values: unknown[],
) => Promise<{ insertId?: unknown; affectedRows?: unknown; rows?: unknown[] }>;

function minimum(query: Query): Subject {
  return {
    name: "minimum",
    async claimAndComplete(key) {
      const attempt = randomBytes(16);
      const k = Buffer.from(key);
      const { insertId } = await query(minimumClaim, [scopeHash, k, attempt, hash]);
      if (Number(insertId) === 0) throw new Error("refused");
      const done = await query(minimumComplete, [headers, body, k, scopeHash, Number(insertId), attempt]);
      if (Number(done.affectedRows) !== 1) throw new Error("stale");
    },
    async replay(key) {
      const k = Buffer.from(key);
      const { insertId } = await query(minimumClaim, [scopeHash, k, randomBytes(16), hash]);
      const { rows } = await query(minimumRead, [k, scopeHash]);
      if (Number(insertId) !== 0 || rows?.length !== 1) throw new Error("not replayed");
    },
  };
}

/** Operations a second with so many under way at any time. */
async function turn(concurrent: number, operation: () => Promise<void>): Promise<number> {
  const start = performance.now();
  let count = 0;
  await Promise.all(
    Array.from({ length: concurrent }, async () => {
      while (performance.now() - start < turnMs) {
        await operation();
        count += 1;
      }
    }),
  );
  return (count * 1_000) / (performance.now() - start);
}

const median = (numbers: number[]): number => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
let keys = 0;
const newKey = (): string => `bench-${(keys += 1)}-${randomBytes(8).toString("hex")}`;

async function compare(driver: string, subjects: readonly Subject[]): Promise<void> {
  for (const concurrent of [1, 64]) {
    for (const what of ["claim + complete", "replay"] as const) {
      const rates = new Map<string, number[]>(subjects.map(({ name }) => [name, []]));
      for (let round = 0; round < turns; round += 1) {
        for (const subject of subjects) {
          const replayed = newKey();
          if (what === "replay") await subject.claimAndComplete(replayed);
          const operation =
            what === "replay" ? () => subject.replay(replayed) : () => subject.claimAndComplete(newKey());
          rates.get(subject.name)?.push(await turn(concurrent, operation));
        }
      }
      const [ours = 0, bare = 0] = subjects.map(({ name }) => median(rates.get(name) ?? []));
      console.log(
        `${driver.padEnd(8)} ${what.padEnd(16)} ${String(concurrent).padStart(2)} concurrent: ` +
          `ichido ${ours.toFixed(0).padStart(6)}/s, minimum ${bare.toFixed(0).padStart(6)}/s, ratio ${(ours / bare).toFixed(2)}`,
      );
    }
  }
}

const database = `ichido_bench_${randomBytes(4).toString("hex")}`;
const where = { host: server.hostname, port: Number(server.port), user: decodeURIComponent(server.username) || "root" };
const secret = server.password === "" ? {} : { password: decodeURIComponent(server.password) };
const admin = await mysql2.createConnection({ ...where, ...secret });
await admin.query(`create database ${database}`);
try {
  await admin.query(`use ${database}`);
  const [[settings]] = (await admin.query(
    "select version() as version, @@innodb_flush_log_at_trx_commit as flushed, @@log_bin as binlog",
  )) as unknown as [[{ version: string; flushed: number; binlog: number }]];
  console.log(`${settings.version}, flush at commit ${settings.flushed}, binary log ${settings.binlog}`);
  await admin.query(minimumTable);
  const options = { ...where, ...secret, database, connectionLimit: 32 };

  const first = mysql2.createPool(options);
  const store = mysqlStore(first);
  await store.migrate();
  await compare("mysql2", [
    ichido(store),
    minimum(async (sql, values) => {
      const [result] = await first.query(sql, values);
      return Array.isArray(result) ? { rows: result } : result;
    }),
  ]);
  await first.end();

  const second = mariadb.createPool(options);
  await compare("mariadb", [
    ichido(mysqlStore(second)),
    minimum(async (sql, values) => {
      const result = (await second.query(sql, values)) as unknown[] | { insertId: bigint; affectedRows: number };
      return Array.isArray(result) ? { rows: result } : result;
    }),
  ]);
  await second.end();
} finally {
  await admin.query(`drop database ${database}`);
  await admin.end();
}
