/**
 * The MySQL store beside a hand-written minimum of the same protocol on the same pool, in turns of one run:
 *
 *     node --conditions=ichido-source bench/stores/mysql.ts [mysql://root@127.0.0.1:3306] [seconds a turn]
 *
 * Read the ratios; the figures themselves are those of one machine on one day.
 */
import { randomBytes } from "node:crypto";
import { mysqlStore } from "ichido/mysql";
import mariadb from "mariadb";
import mysql2 from "mysql2/promise";
import { compareStores, sampleBody, sampleHash, sampleScopeHash, storeSubject, type Subject } from "../measure.ts";

const server = new URL(process.argv[2] ?? "mysql://root@127.0.0.1:3306");
const turnMs = Number(process.argv[3] ?? 1.5) * 1_000;

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
      const { insertId } = await query(minimumClaim, [sampleScopeHash, k, attempt, sampleHash]);
      if (Number(insertId) === 0) throw new Error("refused");
      const done = await query(minimumComplete, [headers, sampleBody, k, sampleScopeHash, Number(insertId), attempt]);
      if (Number(done.affectedRows) !== 1) throw new Error("stale");
    },
    async replay(key) {
      const k = Buffer.from(key);
      const { insertId } = await query(minimumClaim, [sampleScopeHash, k, randomBytes(16), sampleHash]);
      const { rows } = await query(minimumRead, [k, sampleScopeHash]);
      if (Number(insertId) !== 0 || rows?.length !== 1) throw new Error("not replayed");
    },
  };
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
  const onFirst = [
    storeSubject("ichido", store),
    minimum(async (sql, values) => {
      const [result] = await first.query(sql, values);
      return Array.isArray(result) ? { rows: result } : result;
    }),
  ];
  await compareStores({ title: "mysql2", subjects: onFirst, baseline: "minimum", turnMs });
  await first.end();

  const second = mariadb.createPool(options);
  const onSecond = [
    storeSubject("ichido", mysqlStore(second)),
    minimum(async (sql, values) => {
      const result = (await second.query(sql, values)) as unknown[] | { insertId: bigint; affectedRows: number };
      return Array.isArray(result) ? { rows: result } : result;
    }),
  ];
  await compareStores({ title: "mariadb", subjects: onSecond, baseline: "minimum", turnMs });
  await second.end();
} finally {
  await admin.query(`drop database ${database}`);
  await admin.end();
}
