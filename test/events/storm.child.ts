/** One process of the storm: a relay, a consumer, or both with nothing in between. It ends by SIGKILL. */
import { createServer } from "node:http";
import { flushCompileCache } from "node:module";
import type { AddressInfo } from "node:net";
import type { TransactionHandle } from "ichido";
import type { Publisher, Subscription } from "../../packages/ichido/src/brokers/broker.ts";
import { createConsumer, createWebhookReceiver, type OnceHandler } from "ichido/inbox";
import { inProcess } from "ichido/in-process";
import { createOutbox, createRelay } from "ichido/outbox";
import { inboxOn } from "./inbox-messages.ts";
import { openBroker, webhookSecret, type BrokerKind } from "./storm-brokers.ts";
import { enter } from "./storm-ledger.ts";
import { outboxOptions, relayOptions } from "./storm-settings.ts";
import { openRunner } from "./storm-side.ts";

const [role = "", broker = "", url = "", dialect = "", databaseUrl = ""] = process.argv.slice(2);
const kind = broker as BrokerKind;
const transactions = await openRunner(dialect as TransactionHandle["dialect"], databaseUrl);
const inbox = inboxOn(transactions);
const once: OnceHandler<unknown> = (_tx, { handle, message }) => enter(handle, message);
const name = "ledger";

function note(event: { readonly type: string; readonly id?: string; readonly error?: unknown }): void {
  if (event.type === "duplicate") console.log(`duplicate ${event.id}`);
  else if (!["processed", "sent"].includes(event.type))
    console.log(`event ${event.type} ${event.id ?? ""} ${event.error instanceof Error ? event.error.message : ""}`);
}

async function relay(publisher: Publisher): Promise<void> {
  const outbox = createOutbox({ ...outboxOptions, transactions });
  await createRelay(outbox, { ...relayOptions, routes: { storm: publisher }, onEvent: note }).start();
}

async function consume(subscription: Subscription): Promise<void> {
  await createConsumer({ subscription, inbox, handlers: [{ name, topics: ["*"], once }], onEvent: note }).start();
}

async function receive(): Promise<void> {
  const receiver = createWebhookReceiver({
    inbox,
    name,
    secrets: webhookSecret,
    once,
    retryAfterSeconds: 1,
    onEvent: note,
  });
  const server = createServer((request, response) => void receiver.node(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  console.log(`port ${(server.address() as AddressInfo).port}`);
}

if (kind === "in-process") {
  const { publisher, subscription } = inProcess();
  await consume(subscription);
  await relay(publisher);
} else {
  const opened = await openBroker(kind, url);
  if (role === "relay") await relay(await opened.publisher());
  else if (kind === "webhook") await receive();
  else await consume(await opened.subscription());
}
// It will be killed, and would leave nothing in the compile cache.
flushCompileCache();
console.log("ready");
