/** Databases of their own in which outboxes are filled with copies of one event: filling is not what is measured. */
import { randomBytes } from "node:crypto";
import { createOutbox, type Outbox } from "ichido/outbox";
import {
  mysql2Transactions,
  pgTransactions,
  type TransactionHandle,
  type TransactionRunner,
} from "ichido/transactions";
import mysql2 from "mysql2/promise";
import { openBed } from "./bed.ts";

/** One claim: how long its statement took, and how many events it found. */
export interface Claim {
  readonly tookMs: number;
  readonly found: number;
}

export interface ClaimBed {
  readonly name: string;
  /** An outbox of its own, every claim of which is noted. */
  createOutbox(prefix: string, claims: Claim[]): Promise<Outbox>;
  /** Copies of an event with keys of their own, or of so many keys in turn. */
  fill(prefix: string, count: number, keys?: number): Promise<void>;
  /** As a server does by itself after a while. */
  analyze(prefix: string): Promise<void>;
  /** Another session whose transaction reads, and goes on for as long as it is not ended. */
  holdSnapshot(prefix: string): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

const numbersMax = 50_000;
const payload = { note: "x".repeat(200) };

function noting(runner: TransactionRunner<unknown>, claims: Claim[]): TransactionRunner<unknown> {
  const through = (handle: TransactionHandle): TransactionHandle => ({
    ...handle,
    async execute(sql, values, options) {
      if (!sql.includes("order by o.seq")) return handle.execute(sql, values, options);
      const startMs = performance.now();
      const result = await handle.execute(sql, values, options);
      claims.push({ tookMs: performance.now() - startMs, found: result.rows.length });
      return result;
    },
  });
  const { dialect } = runner;
  return { dialect, run: (fn, options) => runner.run((tx, handle) => fn(tx, through(handle)), options) };
}

async function outboxOn(
  runner: TransactionRunner<unknown>,
  query: (sql: string) => Promise<unknown>,
  prefix: string,
  claims: Claim[],
): Promise<Outbox> {
  const outbox = createOutbox({
    transactions: noting(runner, claims),
    source: "/bench",
    topics: { "*": { to: "null" } },
    tablePrefix: prefix,
  });
  await outbox.migrate();
  await outbox.transaction((_tx, handle) => outbox.add(handle, { topic: "order.paid", key: "k", payload }));
  await query(`create table ${prefix}sample as select topic, envelope, payload, added_ms from ${prefix}outbox`);
  await query(`delete from ${prefix}outbox`);
  return outbox;
}

const columns = "id, topic, lane, message_key, key_hash, envelope, payload, added_ms";

export async function openPostgresBed(server: string): Promise<ClaimBed> {
  const bed = await openBed(server);
  const query = (sql: string): Promise<unknown> => bed.pool.query(sql);
  let filled = 0;
  return {
    name: "PostgreSQL",
    createOutbox: (prefix, claims) => outboxOn(pgTransactions(bed.pool), query, prefix, claims),
    async fill(prefix, count, keys) {
      const key = keys === undefined ? "g" : `g % ${keys}`;
      const hash = `md5('k' || ${key})`;
      await query(
        `insert into ${prefix}outbox (${columns}) select gen_random_uuid()::text, topic, get_byte(decode(${hash}, 'hex'), 0) % 64,
         'k' || ${key}, decode(${hash}, 'hex'), envelope, payload, added_ms
         from ${prefix}sample, generate_series(${filled + 1}, ${filled + count}) g order by g`,
      );
      filled += count;
    },
    analyze: async (prefix) => void (await query(`analyze ${prefix}outbox`)),
    async holdSnapshot(prefix) {
      const client = await bed.pool.connect();
      await client.query("begin isolation level repeatable read");
      await client.query(`select count(*) from ${prefix}sample`);
      return async () => {
        await client.query("rollback");
        client.release();
      };
    },
    close: () => bed.close(),
  };
}

export async function openMariadbBed(server: string): Promise<ClaimBed> {
  const name = `ichido_bench_${randomBytes(4).toString("hex")}`;
  const admin = await mysql2.createConnection({ uri: server });
  await admin.query(`create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  const pool = mysql2.createPool({ uri: url.href, connectionLimit: 10 });
  const query = (sql: string): Promise<unknown> => pool.query(sql);
  await query("create table numbers (n int not null primary key)");
  await query("insert into numbers values (1)");
  for (let count = 1; count < numbersMax; count *= 2)
    await query(`insert into numbers select n + ${count} from numbers where n + ${count} <= ${numbersMax}`);
  let filled = 0;
  return {
    name: "MariaDB",
    createOutbox: (prefix, claims) => outboxOn(mysql2Transactions(pool), query, prefix, claims),
    async fill(prefix, count, keys) {
      const key = keys === undefined ? `(n + ${filled})` : `((n + ${filled}) % ${keys})`;
      const hash = `md5(concat('k', ${key}))`;
      await query(
        `insert into ${prefix}outbox (${columns}) select uuid(), topic, conv(left(${hash}, 2), 16, 10) % 64,
         concat('k', ${key}), unhex(${hash}), envelope, payload, added_ms
         from ${prefix}sample, numbers where n <= ${count} order by n`,
      );
      filled += count;
    },
    analyze: async (prefix) => void (await query(`analyze table ${prefix}outbox`)),
    async holdSnapshot(prefix) {
      const connection = await pool.getConnection();
      await connection.query("set transaction isolation level repeatable read");
      await connection.query("start transaction with consistent snapshot");
      await connection.query(`select count(*) from ${prefix}sample`);
      return async () => {
        await connection.query("rollback");
        connection.release();
      };
    },
    async close() {
      await pool.end();
      await admin.query(`drop database ${name}`);
      await admin.end();
    },
  };
}
