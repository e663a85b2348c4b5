/** What `outbox.add` takes from a business transaction of one insert, at 8 connections. */
import { createOutbox } from "ichido/outbox";
import { pgTransactions } from "ichido/transactions";
import { rate } from "../measure.ts";
import { inTurns, openBed, told } from "./bed.ts";

export async function benchEnqueue(server: string, turnMs: number): Promise<void> {
  const bed = await openBed(server);
  try {
    const transactions = pgTransactions(bed.pool);
    const outbox = createOutbox({ transactions, source: "/bench", topics: { "*": { to: "none" } } });
    await outbox.migrate();
    await bed.pool.query(
      "create table orders (id bigint generated always as identity primary key, note text not null)",
    );
    const order = "insert into orders (note) values ('paid')";
    const payload = { orderId: "order-1", amount: 1999, note: "x".repeat(200) };
    let key = 0;
    const bare = (): Promise<void> => transactions.run(async (tx) => void (await tx.query(order)));
    const byHand = (): Promise<void> =>
      transactions.run(async (tx) => {
        await tx.query(order);
        await tx.query("insert into hand_outbox (topic, key, payload) values ($1, $2, $3)", [
          "order.paid",
          `k${(key += 1) % 500}`,
          JSON.stringify(payload),
        ]);
      });
    const ours = (atCommit: boolean): Promise<void> =>
      outbox.transaction(async (tx, handle) => {
        await tx.query(order);
        await outbox.add(handle, { topic: "order.paid", key: `k${(key += 1) % 500}`, payload }, { atCommit });
      });
    await bed.pool.query(
      "create table hand_outbox (seq bigint generated always as identity primary key, topic text not null, key text, payload jsonb not null)",
    );
    const measured = await inTurns(3, {
      bare: () => rate(8, turnMs, bare),
      byHand: () => rate(8, turnMs, byHand),
      ours: () => rate(8, turnMs, () => ours(false)),
      oursAtCommit: () => rate(8, turnMs, () => ours(true)),
    });
    console.log(
      `enqueue, 8 connections, share of the bare transaction in the better pair (bar 0.70): bare ${told(measured.bare)}; ` +
        `an outbox row by hand ${told(measured.byHand)}; outbox.add ${told(measured.ours)}, atCommit ${told(measured.oursAtCommit)}`,
    );
  } finally {
    await bed.close();
  }
}
