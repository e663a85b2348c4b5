/** From the commit in one process' pool to the effect of a consumer, one event at a time, and what waking costs writers. */
import { createConsumer, createInbox } from "ichido/inbox";
import { inProcess } from "ichido/in-process";
import { createOutbox, createRelay, pgWake } from "ichido/outbox";
import { pgTransactions } from "ichido/transactions";
import { Pool } from "pg";
import { quantile, rate } from "../measure.ts";
import { bestOf, openBed, perSecond, ratio } from "./bed.ts";

const singles = 300;

export async function benchLatency(server: string, turnMs: number): Promise<void> {
  const bed = await openBed(server);
  const writerPool = new Pool({ connectionString: bed.url, max: 10 });
  // Dropping the database ends connections; that is no news here.
  writerPool.on("error", () => undefined);
  try {
    const transactions = pgTransactions(bed.pool);
    const topics = { "*": { to: "here" } };
    const reader = createOutbox({ transactions, source: "/bench", topics, wake: pgWake(bed.pool) });
    // Another pool, so that nothing but the notification tells the relay.
    const writer = createOutbox({
      transactions: pgTransactions(writerPool),
      source: "/bench",
      topics,
      wake: pgWake(writerPool),
    });
    const silent = createOutbox({ transactions: pgTransactions(writerPool), source: "/bench", topics });
    const inbox = createInbox({ transactions, retentionMs: 14 * 86_400_000 });
    await reader.migrate();
    await inbox.migrate();
    const { publisher, subscription } = inProcess();
    const arrivals = new Map<string, (atMs: number) => void>();
    const consumer = createConsumer({
      subscription,
      inbox,
      handlers: [
        { name: "bench", topics: ["*"], once: (_tx, { message }) => arrivals.get(message.id)?.(performance.now()) },
      ],
    });
    const relay = createRelay(reader, { routes: { here: publisher }, idleMs: 1_000, idleMsMax: 1_000 });
    await consumer.start();
    await relay.start();
    const waits: number[] = [];
    for (let at = 0; at < singles; at += 1) {
      const id = `single-${at}`;
      const arrived = new Promise<number>((resolve) => arrivals.set(id, resolve));
      await writer.transaction((_tx, handle) => writer.add(handle, { topic: "order.paid", key: id, payload: at, id }));
      const committedMs = performance.now();
      waits.push(Math.max(0, (await arrived) - committedMs));
      arrivals.delete(id);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    console.log(
      `latency, commit to consumer in another pool, ${singles} singles: p50 ${quantile(waits, 0.5).toFixed(1)} ms (bar 5), p99 ${quantile(waits, 0.99).toFixed(1)} ms (bar 25)`,
    );
    await relay.stop();
    await consumer.stop();
    const add = (outbox: typeof writer) => (): Promise<void> =>
      outbox.transaction(async (_tx, handle) => {
        await outbox.add(handle, { topic: "order.paid", payload: 1 });
      });
    const rates = await bestOf(3, {
      quiet: () => rate(4, turnMs, add(silent)),
      waking: () => rate(4, turnMs, add(writer)),
    });
    console.log(
      `wake-up, 4 writers: without ${perSecond(rates.quiet)}, with ${perSecond(rates.waking)} (${ratio(rates.waking, rates.quiet)}; bar 0.95)`,
    );
  } finally {
    await writerPool.end();
    await bed.close();
  }
}
