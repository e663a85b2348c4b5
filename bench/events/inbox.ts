/** What the inbox takes from a business transaction of one insert, and how cheap a duplicate is, at 8 connections. */
import { randomUUID } from "node:crypto";
import { createInbox, type EventMessage } from "ichido/inbox";
import { pgTransactions } from "ichido/transactions";
import { rate } from "../measure.ts";
import { inTurns, openBed, told } from "./bed.ts";

const payload = new TextEncoder().encode(JSON.stringify({ orderId: "order-1", note: "x".repeat(200) }));

function messageOf(id: string): EventMessage {
  return {
    id,
    topic: "order.paid",
    key: "k",
    source: "/bench",
    time: new Date().toISOString(),
    contentType: "application/json",
    payload,
    headers: {},
  };
}

export async function benchInbox(server: string, turnMs: number): Promise<void> {
  const bed = await openBed(server);
  try {
    const transactions = pgTransactions(bed.pool);
    const inbox = createInbox({ transactions, retentionMs: 86_400_000 });
    await inbox.migrate();
    await bed.pool.query(
      "create table effects (id bigint generated always as identity primary key, note text not null)",
    );
    await bed.pool.query("create table hand_inbox (handler text, id text, primary key (handler, id))");
    const effect = "insert into effects (note) values ('paid')";
    const take = "insert into hand_inbox values ('bench', $1) on conflict do nothing";
    const old = messageOf(randomUUID());
    await inbox.runOnce(old, "bench", (tx) => tx.query(effect));
    await bed.pool.query(take, [old.id]);
    const byHand = (id: string): Promise<void> =>
      transactions.run(async (tx) => {
        if ((await tx.query(take, [id])).rowCount === 1) await tx.query(effect);
      });
    const measured = await inTurns(3, {
      bare: () => rate(8, turnMs, () => transactions.run(async (tx) => void (await tx.query(effect)))),
      handFirst: () => rate(8, turnMs, () => byHand(randomUUID())),
      handDuplicate: () => rate(8, turnMs, () => byHand(old.id)),
      first: () =>
        rate(8, turnMs, async () => {
          await inbox.runOnce(messageOf(randomUUID()), "bench", (tx) => tx.query(effect));
        }),
      unexpected: () =>
        rate(8, turnMs, async () => {
          await inbox.runOnce(old, "bench", (tx) => tx.query(effect));
        }),
      duplicate: () =>
        rate(8, turnMs, async () => {
          await inbox.runOnce(old, "bench", (tx) => tx.query(effect), { redelivered: true });
        }),
    });
    console.log(
      `inbox, 8 connections, share of the bare transaction in the better pair: bare ${told(measured.bare)}; ` +
        `first by hand ${told(measured.handFirst)}, runOnce ${told(measured.first)} (bar 0.70); ` +
        `duplicate by hand ${told(measured.handDuplicate)}, runOnce ${told(measured.duplicate)} (bar 2), ` +
        `where the broker did not say that it is a redelivery ${told(measured.unexpected)}`,
    );
  } finally {
    await bed.close();
  }
}
