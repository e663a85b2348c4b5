/** What relays and consumers tell metrics and diagnostics channels, on a real outbox and inbox. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { DatabaseSync } from "node:sqlite";
import { createIchido } from "ichido";
import { createConsumer, createInbox, type ConsumerEvent } from "ichido/inbox";
import { inProcess } from "ichido/in-process";
import { memoryStore } from "ichido/memory";
import { createMetrics } from "ichido/metrics";
import { createOutbox, createRelay, type RelayEvent } from "ichido/outbox";
import { nodeSqliteTransactions } from "ichido/transactions";
import { afterEach, beforeEach, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";

const customer = "customer-4711";

async function setUp() {
  const database = new DatabaseSync(":memory:");
  const transactions = nodeSqliteTransactions(database);
  const topics = { "order.*": { to: "broker" } };
  const outbox = createOutbox({ transactions, source: "/shop", topics });
  const inbox = createInbox({ transactions, retentionMs: 8 * 86_400_000 });
  await outbox.migrate();
  await inbox.migrate();
  const { publisher, subscription } = inProcess();
  const relay = createRelay(outbox, { routes: { broker: publisher } });
  const consumer = createConsumer({
    subscription,
    inbox,
    attemptsMax: 1,
    handlers: [
      { name: "mail", topics: ["order.*"], once: () => undefined },
      {
        name: "stock",
        topics: ["order.*"],
        once: (_tx, { message }) => {
          if (message.topic === "order.bad") throw new Error(`no ${customer}`);
        },
      },
    ],
  });
  const ichido = createIchido({ store: memoryStore(), scope: () => ({ principal: "p" }), onUnknown: "rerun" });
  const metrics = createMetrics(ichido, { outbox, inbox, relays: [relay], consumers: [consumer], eventStatsMs: 1 });
  const add = (topic: string, id: string) =>
    outbox.transaction((_tx, handle) => outbox.add(handle, { topic, id, key: customer, payload: { customer } }));
  return { database, outbox, inbox, publisher, relay, consumer, ichido, metrics, add };
}

let bed: Awaited<ReturnType<typeof setUp>>;
beforeEach(async () => {
  bed = await setUp();
});
afterEach(async () => {
  await bed.relay.stop();
  await bed.consumer.stop();
  await bed.publisher.close();
  await bed.ichido.close();
  bed.database.close();
});

test("outbox, relay and inbox are counted, with topics and handlers and nothing else of an event", async () => {
  const { relay, consumer, metrics, add, publisher } = bed;
  await add("order.paid", "e-1");
  await add("order.bad", "e-2");
  await add("lost.cause", "e-3");
  const before = await metrics.text();
  expect(before).toContain("outbox_message_pending 3\n");
  expect(before).toMatch(/^outbox_message_oldest_age_seconds [\d.]+$/m);
  expect(before).toContain("inbox_message_remembered 0\n");
  await consumer.start();
  await relay.start();
  const text = await eventually(async () => {
    const told = await metrics.text();
    expect(told).toContain("inbox_message_dead 1\n");
    expect(told).toContain('outbox_publish_failed_total{topic="lost.cause",reason="unrouted"} 1\n');
    expect(told).toContain("outbox_message_pending 1\n");
    return told;
  });
  for (const line of [
    'outbox_publish_duration_seconds_count{topic="order.paid"} 1',
    'outbox_publish_duration_seconds_count{topic="order.bad"} 1',
    "outbox_up 1",
    "outbox_message_dead 0",
    "outbox_relay_active 1",
    'inbox_process_duration_seconds_count{handler="mail"} 2',
    'inbox_process_duration_seconds_count{handler="stock"} 1',
    'inbox_message_failed_total{handler="stock",reason="failed"} 1',
    'inbox_message_failed_total{handler="stock",reason="dead"} 1',
    "inbox_up 1",
    "inbox_message_remembered 3",
    "inbox_message_parked 0",
  ]) {
    expect(text).toContain(`${line}\n`);
  }
  await publisher.publish({
    id: "e-1",
    topic: "order.paid",
    source: "/shop",
    time: new Date().toISOString(),
    headers: {},
    key: customer,
    contentType: "application/json",
    payload: new TextEncoder().encode(JSON.stringify({ customer })),
  });
  await eventually(async () =>
    expect(await metrics.text()).toContain('inbox_message_duplicate_total{handler="mail"} 1\n'),
  );
  expect(await metrics.text()).not.toMatch(/4711|e-1/);
});

test("a database that is gone is told, and the rest of the text stays", async () => {
  bed.database.exec("DROP TABLE ichido_inbox_parked");
  const text = await bed.metrics.text();
  expect(text).toContain("inbox_up 0\n");
  expect(text).not.toContain("inbox_message_remembered");
  expect(text).toContain("outbox_up 1\n");
});

test("the same events are on the channels ichido:engine, ichido:relay and ichido:consumer", async () => {
  const { relay, consumer, ichido, add } = bed;
  const heard: string[] = [];
  const note = (part: string) => (message: unknown) => {
    heard.push(`${part} ${(message as RelayEvent | ConsumerEvent).type}`);
  };
  const listeners = ["engine", "relay", "consumer"].map((part) => [`ichido:${part}`, note(part)] as const);
  for (const [channel, listener] of listeners) subscribe(channel, listener);
  try {
    await consumer.start();
    await relay.start();
    await add("order.paid", "e-1");
    const paid = { operation: "payment.create", scope: { principal: "p" }, key: "k" };
    await ichido.run(paid, () => 1);
    await eventually(() =>
      expect(heard).toEqual(expect.arrayContaining(["engine request", "relay sent", "consumer processed"])),
    );
  } finally {
    for (const [channel, listener] of listeners) unsubscribe(channel, listener);
  }
});
