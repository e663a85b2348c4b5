/** Emptying an outbox of many rows into nothing, beside a hand-written loop and two published libraries. */
import { randomUUID } from "node:crypto";
import { run as graphileRun, runMigrations } from "graphile-worker";
import { createOutbox, createRelay, type Publisher } from "ichido/outbox";
import { pgTransactions } from "ichido/transactions";
import * as peer from "pg-transactional-outbox";
import { bestOf, openBed, perSecond, ratio, type EventsBed } from "./bed.ts";

const batch = 250;
const keys = 500;

/** Resolves when the publisher has seen so many. */
export function countingPublisher(through?: Publisher): Publisher & { until(count: number): Promise<void> } {
  let seen = 0;
  let wanted = 0;
  let done: (() => void) | undefined;
  return {
    name: "null",
    async publish(message) {
      const published = (await through?.publish(message)) ?? ({ outcome: "sent" } as const);
      if (published.outcome !== "sent") throw published.error;
      seen += 1;
      if (seen === wanted) done?.();
      return published;
    },
    until: (count) =>
      new Promise((resolve) => {
        wanted = count;
        done = resolve;
        if (seen >= count) resolve();
      }),
    close: () => Promise.resolve(),
  };
}

async function timed(count: number, work: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return (count * 1_000) / (performance.now() - start);
}

/** Fills an outbox of its own and empties it through the publisher. */
export async function oursIn(
  bed: EventsBed,
  count: number,
  order: "key" | "none",
  prefix: string = order === "key" ? "keyed_" : "free_",
  through?: Publisher,
): Promise<() => Promise<number>> {
  const outbox = createOutbox({
    transactions: pgTransactions(bed.pool),
    source: "/bench",
    topics: { "*": { to: "null", order } },
    tablePrefix: prefix,
  });
  await outbox.migrate();
  return async () => {
    // One event through the front door, the rest as copies of it: filling is not what is measured.
    await outbox.transaction((_tx, handle) =>
      outbox.add(handle, { topic: "order.paid", key: "k0", payload: { note: "x".repeat(200) } }),
    );
    await bed.pool.query(
      `insert into ${prefix}outbox (id, topic, lane, message_key, key_hash, envelope, payload, added_ms)
       select gen_random_uuid()::text, topic, g % 64, 'k' || g % ${keys}, case when key_hash is null then null else sha256(('k' || g % ${keys})::bytea) end, envelope, payload, added_ms
       from ${prefix}outbox, generate_series(1, ${count - 1}) g`,
    );
    if (order === "key") {
      // The lane belongs to the key.
      await bed.pool.query(`update ${prefix}outbox set lane = get_byte(key_hash, 0) % 64`);
    }
    await bed.pool.query(`vacuum analyze ${prefix}outbox`);
    const publisher = countingPublisher(through);
    const relay = createRelay(outbox, { routes: { null: publisher }, batch });
    const speed = await timed(count, async () => {
      await relay.start();
      await publisher.until(count);
      await relay.stop();
    });
    const left = (await outbox.stats()).pending;
    if (left !== 0) throw new Error(`${left} events were left`);
    return speed;
  };
}

export interface HandRow {
  readonly seq: string;
  readonly id: string;
  readonly topic: string;
  readonly payload: Buffer;
}

/** Lease a batch by moving its due time, publish, delete the batch: autocommit statements, no attempts, no fence, no order. */
export async function byHandIn(
  bed: EventsBed,
  count: number,
  table = "hand",
  send: (row: HandRow) => Promise<unknown> = () => Promise.resolve(),
): Promise<() => Promise<number>> {
  await bed.pool.query(
    `create table ${table} (seq bigint generated always as identity primary key, id text not null, due timestamptz not null default now(), topic text not null, payload bytea not null)`,
  );
  return async () => {
    await bed.pool.query(
      `insert into ${table} (id, topic, payload) select gen_random_uuid()::text, 'order.paid', repeat('x', 200)::bytea from generate_series(1, ${count}) g`,
    );
    await bed.pool.query(`vacuum analyze ${table}`);
    return timed(count, async () => {
      for (;;) {
        const { rows } = await bed.pool.query<HandRow>(
          `with picked as (select seq from ${table} where due <= now() order by seq limit ${batch} for update skip locked)
           update ${table} h set due = now() + interval '10 seconds' from picked where h.seq = picked.seq returning h.seq, h.id, h.topic, h.payload`,
        );
        if (rows.length === 0) return;
        await Promise.all(rows.map(send));
        await bed.pool.query(`delete from ${table} where seq = any($1::bigint[])`, [rows.map(({ seq }) => seq)]);
      }
    });
  };
}

async function graphileIn(bed: EventsBed, count: number): Promise<() => Promise<number>> {
  await runMigrations({ connectionString: bed.url });
  const silent = { scope: () => () => undefined };
  return async () => {
    await bed.pool.query(
      `select graphile_worker.add_job('send', json_build_object('note', repeat('x', 200))) from generate_series(1, ${count}) g`,
    );
    await bed.pool.query("vacuum analyze");
    let seen = 0;
    const start = performance.now();
    let finish: (() => void) | undefined;
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const { Logger } = await import("graphile-worker");
    const runner = await graphileRun({
      connectionString: bed.url,
      concurrency: 10,
      noHandleSignals: true,
      logger: new Logger(() => silent.scope()),
      preset: { worker: { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
      taskList: {
        send: () => {
          seen += 1;
          if (seen === count) finish?.();
        },
      },
    });
    await finished;
    const speed = (count * 1_000) / (performance.now() - start);
    await runner.stop();
    return speed;
  };
}

/** Its own best-known settings here: batches of 100, a poll every 10 ms. Fewer rows: it would take minutes. */
async function peerIn(bed: EventsBed, count: number): Promise<() => Promise<number>> {
  const setup = {
    outboxOrInbox: "outbox" as const,
    database: new URL(bed.url).pathname.slice(1),
    schema: "public",
    table: "peer_outbox",
    listenerRole: "postgres",
    handlerRole: "postgres",
    nextMessagesName: "next_peer_messages",
  };
  for (const sql of [
    peer.DatabaseSetup.dropAndCreateTable(setup),
    peer.DatabaseSetup.createPollingFunction(setup),
    peer.DatabaseSetup.setupPollingIndexes(setup),
  ])
    await bed.pool.query(sql);
  const quiet = { fatal() {}, error() {}, warn() {}, info() {}, debug() {}, trace() {}, silent() {} };
  return async () => {
    await bed.pool.query("truncate peer_outbox");
    for (let from = 0; from < count; from += 500) {
      await bed.pool.query(
        `insert into peer_outbox (id, aggregate_type, aggregate_id, message_type, concurrency, payload)
         select unnest($1::uuid[]), 'order', 'k', 'paid', 'parallel', '{"note":"${"x".repeat(200)}"}'`,
        [Array.from({ length: Math.min(500, count - from) }, () => randomUUID())],
      );
    }
    let seen = 0;
    let finish: (() => void) | undefined;
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const start = performance.now();
    const connection = { connectionString: bed.url };
    const [stop] = peer.initializePollingMessageListener(
      {
        outboxOrInbox: "outbox",
        dbListenerConfig: connection,
        settings: {
          dbSchema: "public",
          dbTable: "peer_outbox",
          nextMessagesFunctionName: "next_peer_messages",
          nextMessagesBatchSize: 100,
          nextMessagesPollingIntervalInMs: 10,
          enablePoisonousMessageProtection: false,
        },
      } as never,
      {
        handle: async () => {
          seen += 1;
          if (seen === count) finish?.();
        },
      },
      quiet as never,
    );
    await finished;
    const speed = (count * 1_000) / (performance.now() - start);
    await stop();
    return speed;
  };
}

export async function benchRelay(server: string, count: number, rounds: number): Promise<void> {
  const bed = await openBed(server);
  try {
    const rates = await bestOf(rounds, {
      hand: await byHandIn(bed, count),
      free: await oursIn(bed, count, "none"),
      keyed: await oursIn(bed, count, "key"),
      graphile: await graphileIn(bed, count),
    });
    const peers = await bestOf(1, { outbox: await peerIn(bed, Math.min(1_000, count)) });
    console.log(
      `relay, null publisher, ${count} rows, batch ${batch}: by hand ${perSecond(rates.hand)}; unordered ${perSecond(rates.free)} ` +
        `(${ratio(rates.free, rates.hand)} of by hand; bar 0.60); ordered ${perSecond(rates.keyed)} (${ratio(rates.keyed, rates.free)} of unordered; bar 0.70); ` +
        `graphile-worker, local queue 500: ${perSecond(rates.graphile)} (ours ${ratio(rates.free, rates.graphile)} x; bar 1); ` +
        `pg-transactional-outbox, batch 100, poll 10 ms: ${perSecond(peers.outbox)} (ours ${ratio(rates.free, peers.outbox)} x; bar 20)`,
    );
  } finally {
    await bed.close();
  }
}
