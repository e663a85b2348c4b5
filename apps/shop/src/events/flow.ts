/** Events on their way: written with the order, sent by the relay, taken by the consumers. */
import { createConsumer, createInbox, type Consumer, type Inbox } from "ichido/inbox";
import { createOutbox, createRelay, type Outbox, type Relay } from "ichido/outbox";
import type { Logger, Tracing } from "ichido";
import type { Database } from "../database/database.ts";
import { textOf } from "../errors.ts";
import { inboxRetentionMs } from "./broker-settings.ts";
import { openBroker } from "./broker.ts";
import { handlers } from "./handlers.ts";
import { ownEvents } from "./own-events.ts";

export interface EventFlow {
  readonly outbox: Outbox;
  readonly inbox: Inbox;
  readonly relay: Relay;
  readonly consumer: Consumer;
  /** After relay and consumer were stopped, or instead of it where a start failed. */
  close(): Promise<void>;
}

/** Short: what a killed shop held goes on with another one within seconds. */
const RELAY_LEASE_MS = 3_000;
const STOP_MS = 5_000;
const SWEEP_MS = 600_000;

export async function startEvents(options: {
  readonly database: Database;
  readonly databaseName: string;
  readonly brokerUrl: string | undefined;
  readonly log: (line: string) => void;
  readonly logger: Logger;
  readonly tracing: Tracing;
}): Promise<EventFlow> {
  const { database, databaseName, log, logger, tracing } = options;
  const { transactions } = database;
  const source = `/shop/${databaseName}`;
  const outbox = createOutbox({
    transactions,
    source,
    topics: { "order.*": { to: "broker" } },
    trace: tracing.current,
  });
  const inbox = createInbox({ transactions, retentionMs: inboxRetentionMs });
  await outbox.migrate();
  await inbox.migrate();

  const broker = await openBroker(options.brokerUrl, databaseName);
  let waiting = false;
  const consumer = createConsumer({
    subscription: ownEvents(broker.subscription, source),
    inbox,
    handlers,
    logger,
    tracing,
    onEvent: (event) => {
      if (event.type === "dead" || event.type === "failed" || event.type === "unhandled")
        log(`event ${event.id} (${event.topic}): ${event.type}${"error" in event ? `: ${textOf(event.error)}` : ""}`);
      // Tried again and again: said once for each time that it begins.
      if (event.type === "unavailable" && !waiting)
        log(`events wait, the inbox cannot be used: ${textOf(event.error)}`);
      if (event.type === "unavailable") waiting = true;
      else if (event.type === "processed" || event.type === "duplicate" || event.type === "dead") waiting = false;
    },
  });
  const relay = createRelay(outbox, {
    routes: { broker: broker.publisher },
    leaseMs: RELAY_LEASE_MS,
    logger,
    tracing,
    onEvent: (event) => {
      if (event.type === "dead" || event.type === "unrouted") log(`event ${event.id} (${event.topic}): ${event.type}`);
      else if (event.type === "set-aside")
        log(`event ${event.id} (${event.topic}) waits alone: ${textOf(event.error)}`);
      else if (event.type === "paused") log(`events wait, the broker cannot be used: ${textOf(event.error)}`);
    },
  });
  const sweeper = setInterval(() => {
    void Promise.all([outbox.sweep(), inbox.sweep()]).catch((error: unknown) => log(`sweep: ${textOf(error)}`));
  }, SWEEP_MS).unref();

  async function close(): Promise<void> {
    clearInterval(sweeper);
    await relay.stop({ drainMs: STOP_MS });
    await consumer.stop({ drainMs: STOP_MS });
    await broker.close();
  }

  try {
    await consumer.start();
    await relay.start();
  } catch (error) {
    await close();
    throw error;
  }
  return { outbox, inbox, relay, consumer, close };
}
