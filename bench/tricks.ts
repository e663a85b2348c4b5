/**
 * Whether a trick earns its place: the path where users meet it, with the trick and without, in pairs of turns of one run.
 *
 *     npm run bench -- tricks.ts [postgres://postgres@127.0.0.1:5432/postgres] [pairs] [ms a turn]
 *
 * A trick stays when the median of the ratios is at least 1.10 and their lower quartile above 1.05
 * (docs/decisions/0013-tricks-that-earn-their-place.md).
 */
import { randomUUID } from "node:crypto";
import { loadavg } from "node:os";
import { createIchido } from "ichido";
import type { Store } from "ichido";
import { postgresStore } from "ichido/postgres";
import { pgTransactions } from "ichido/transactions";
import type { TransactionRunner } from "ichido/transactions";
import pg from "pg";
import { quantile, rate } from "./measure.ts";
import { requester } from "./requester.ts";

const server = process.argv[2] ?? "postgres://postgres@127.0.0.1:5432/postgres";
const pairs = Math.max(9, Number(process.argv[3] ?? 11));
const turnMs = Number(process.argv[4] ?? 2_000);
const slices = 20;
const crowd = 8;

type Operation = () => Promise<void>;

/** Both in slices that alternate, so that whatever else the machine does hits both alike. */
async function pairOf(callers: number, trick: Operation, plain: Operation): Promise<number> {
  const done = { trick: 0, plain: 0 };
  for (let slice = 0; slice < slices; slice += 1) {
    const first = slice % 2 === 0;
    done[first ? "trick" : "plain"] += await rate(callers, turnMs / slices, first ? trick : plain);
    done[first ? "plain" : "trick"] += await rate(callers, turnMs / slices, first ? plain : trick);
  }
  return done.trick / done.plain;
}

async function compare(title: string, callers: number, trick: Operation, plain: Operation): Promise<void> {
  await pairOf(callers, trick, plain);
  const ratios: number[] = [];
  for (let pair = 0; pair < pairs; pair += 1) ratios.push(await pairOf(callers, trick, plain));
  const [median, lower] = [quantile(ratios, 0.5), quantile(ratios, 0.25)];
  const many = callers === 1 ? "one caller" : `${callers} callers`;
  console.log(
    `${title}, ${many}: median ${median.toFixed(2)}, lower quartile ${lower.toFixed(2)} ` +
      `(${ratios.map((ratio) => ratio.toFixed(2)).join(", ")})`,
  );
}

/** One request with a key of its own and one business insert. */
function ordering(
  store: Store,
  transactions: TransactionRunner<unknown>,
  mode: "lease" | "transaction",
  insert: (tx: never) => unknown,
): { readonly order: Operation; close(): Promise<void> } {
  const ichido = createIchido({
    store,
    transactions,
    dangerouslyShareKeys: true,
    onUnknown: "rerun",
    sweepMs: "off",
    onEvent: () => {},
  });
  const request = requester(ichido, mode);
  return {
    order: () =>
      request((context) =>
        context.transaction(async (tx) => {
          await insert(tx as never);
          return { status: 201, body: { ok: true } };
        }),
      ),
    close: () => ichido.close(),
  };
}

/** A client that takes no batches: every statement by `client.query`, with its values as parameters. */
class PlainClient extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config);
    Object.assign(this, { getTypeParser: undefined });
  }
}

async function onPostgres(): Promise<void> {
  const admin = new pg.Pool({ connectionString: server, max: 1 });
  const name = `ichido_bench_${randomUUID().replaceAll("-", "")}`;
  await admin.query(`CREATE DATABASE ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  const pool = new pg.Pool({ connectionString: url.href, max: crowd });
  const plainPool = new pg.Pool({ connectionString: url.href, max: crowd, Client: PlainClient } as pg.PoolConfig);
  for (const each of [pool, plainPool]) each.on("error", () => {});
  const store = postgresStore(pool);
  const plainStore = postgresStore(plainPool);
  await store.migrate();
  await pool.query("CREATE TABLE orders (id uuid PRIMARY KEY, amount integer)");
  const insert = (tx: pg.PoolClient): unknown =>
    tx.query("INSERT INTO orders (id, amount) VALUES ($1, $2)", [randomUUID(), 1_999]);
  const runner = pgTransactions(pool);
  const subjects = {
    folded: ordering(store, runner, "transaction", insert),
    plain: ordering(plainStore, pgTransactions(plainPool), "transaction", insert),
    lease: ordering(store, runner, "lease", insert),
    plainLease: ordering(plainStore, pgTransactions(plainPool), "lease", insert),
  };
  for (const callers of [1, crowd]) {
    const { folded, plain, lease, plainLease } = subjects;
    await compare("raw writer and folding, transaction mode", callers, folded.order, plain.order);
    await compare("raw writer and folding, ctx.transaction in lease mode", callers, lease.order, plainLease.order);
  }
  for (const each of Object.values(subjects)) await each.close();
  await Promise.all([store.close(), plainStore.close()]);
  await Promise.all([pool.end(), plainPool.end()]);
  await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
  await admin.end();
}

console.log(`${pairs} pairs of turns of ${turnMs} ms; with the trick / without it`);
await onPostgres();
console.log(
  `load average ${loadavg()
    .map((load) => load.toFixed(1))
    .join(" ")}`,
);
