/**
 * Requests a second of a protected Express route, as a ratio to the bare route in the same run, beside two published
 * libraries:
 *
 *     npm run bench -- express.ts [seconds a turn]
 *
 * Each request has a key of its own, so every one of them claims, runs and is recorded. The PostgreSQL, MariaDB and
 * Redis stores take part when POSTGRES_URL, MARIADB_URL or REDIS_URL is set.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Idempotency } from "@node-idempotency/core";
import { MemoryStorageAdapter } from "@node-idempotency/storage-adapter-memory";
import autocannon from "autocannon";
import express from "express";
import * as expressIdempotency from "express-idempotency";
import { createIchido, type Store } from "ichido";
import { captureBody, idempotency } from "ichido/express";
import { memoryStore } from "ichido/memory";
import { mysqlStore } from "ichido/mysql";
import { postgresStore } from "ichido/postgres";
import { redisStore } from "ichido/redis";
import { openSqliteStore } from "ichido/sqlite";
import { median, removeKeys } from "./measure.ts";

const seconds = Number(process.argv[2] ?? 3);
const turns = 3;
const folder = mkdtempSync(join(tmpdir(), "ichido-bench-"));
const closers: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];

const answer: express.RequestHandler = (_req, res) => void res.status(201).json({ id: randomUUID() });

async function serve(mount: (app: express.Express) => void): Promise<number> {
  const app = express();
  mount(app);
  const server: Server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  closers.unshift(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

function withStore(store: Store): (app: express.Express) => void {
  const ichido = createIchido<express.Request>({
    store,
    scope: () => ({ tenant: "t" }),
    onUnknown: "rerun",
    sweepMs: "off",
  });
  closers.unshift(() => ichido.close());
  return (app) => {
    app.use(captureBody(), express.json());
    app.post("/", idempotency(ichido, { operation: "bench" }), answer);
  };
}

const subjects = new Map<string, number>();
subjects.set("bare", await serve((app) => app.use(express.json()).post("/", answer)));
subjects.set(
  "ichido memory",
  await serve(withStore(memoryStore({ recordsMax: 5_000_000, bytesMax: 2 ** 33, scopeShareMax: 1 }))),
);
const sqlite = await openSqliteStore(join(folder, "keys.db"), { migrate: true });
closers.push(() => sqlite.close());
subjects.set("ichido sqlite FULL", await serve(withStore(sqlite)));

const { POSTGRES_URL, MARIADB_URL, REDIS_URL } = process.env;
if (POSTGRES_URL !== undefined) {
  const { default: pg } = await import("pg");
  const pool = new pg.Pool({ connectionString: POSTGRES_URL, max: 8 });
  const schema = `ichido_bench_${randomBytes(4).toString("hex")}`;
  await pool.query(`create schema ${schema}`);
  const store = postgresStore(pool, { schema });
  await store.migrate();
  closers.push(
    () => store.close(),
    () => pool.query(`drop schema ${schema} cascade`),
    () => pool.end(),
  );
  subjects.set("ichido postgres", await serve(withStore(store)));
}
if (MARIADB_URL !== undefined) {
  const { createPool } = await import("mysql2/promise");
  const pool = createPool({ uri: MARIADB_URL, connectionLimit: 16 });
  const tablePrefix = `bench_${randomBytes(4).toString("hex")}_`;
  const store = mysqlStore(pool, { tablePrefix });
  await store.migrate();
  closers.push(
    () => store.close(),
    async () => {
      const [tables] = await pool.query(
        "select table_name as name from information_schema.tables where table_schema = database()",
      );
      for (const { name } of tables as { name: string }[])
        if (name.startsWith(tablePrefix)) await pool.query(`drop table ${name}`);
    },
    () => pool.end(),
  );
  subjects.set("ichido mariadb", await serve(withStore(store)));
}
if (REDIS_URL !== undefined) {
  const { Redis } = await import("ioredis");
  const client = new Redis(REDIS_URL);
  const prefix = `bench:${randomBytes(4).toString("hex")}:`;
  const store = redisStore(client, { prefix });
  closers.push(
    () => store.close(),
    () => removeKeys(client, prefix),
    () => client.quit(),
  );
  subjects.set("ichido redis", await serve(withStore(store)));
}

subjects.set(
  "express-idempotency 1.0.6 (memory)",
  await serve((app) => {
    app.use(express.json());
    app.post("/", expressIdempotency.idempotency() as unknown as express.RequestHandler, (req, res, next) => {
      const service = expressIdempotency.getSharedIdempotencyService();
      if (!service.isHit(req as never)) void answer(req, res, next);
    });
  }),
);
subjects.set(
  "@node-idempotency/core 1.0.11 (memory)",
  await serve((app) => {
    const engine = new Idempotency(new MemoryStorageAdapter());
    app.use(express.json());
    app.post("/", async (req, res, next) => {
      const { headers, path, method } = req;
      const asked = { headers, path, method, body: req.body as Record<string, unknown> };
      const stored = await engine.onRequest(asked);
      if (stored !== undefined) return void res.json(stored.body);
      const send = res.json.bind(res);
      res.json = (body: unknown) => {
        void engine.onResponse(asked, { body }).then(() => send(body));
        return res;
      };
      return void answer(req, res, next);
    });
  }),
);

async function shoot(port: number): Promise<number> {
  const result = await autocannon({
    url: `http://127.0.0.1:${port}/`,
    connections: 32,
    duration: seconds,
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": `${randomBytes(8).toString("hex")}-[<id>]` },
    body: '{"amount":100,"currency":"JPY","bookingId":"b-1"}',
    idReplacement: true,
  });
  if (result.non2xx > 0) throw new Error(`${result.non2xx} answers were not 2xx`);
  return result.requests.average;
}

try {
  const rates = new Map([...subjects.keys()].map((name) => [name, [] as number[]]));
  for (let turn = 0; turn < turns; turn += 1) {
    for (const [name, port] of subjects) rates.get(name)?.push(await shoot(port));
  }
  const bare = median(rates.get("bare") ?? []);
  for (const [name, all] of rates) {
    console.log(
      `${name.padEnd(40)} ${median(all).toFixed(0).padStart(6)} req/s  ratio ${(median(all) / bare).toFixed(2)}`,
    );
  }
} finally {
  for (const close of closers) await close();
}
