/** The event is committed with the order (outbox); whoever acts on it does so once (inbox), as often as it is delivered. */
import { createConsumer, createInbox, type EventMessage } from "ichido/inbox";
import { inProcess } from "ichido/in-process";
import { createOutbox, createRelay } from "ichido/outbox";
import { inboxRetentionMs } from "../../events/broker-settings.ts";
import { handlers } from "../../events/handlers.ts";
import { orderEvents } from "../../events/order-events.ts";
import type { LaneParts } from "./lane.ts";
import { markPaid, type OrderFlow } from "./pay-order.ts";

/** What a killed lane held goes on with its next life. */
const RELAY_LEASE_MS = 2_000;

export async function keptEvents({ database, reach }: LaneParts): Promise<OrderFlow> {
  const { transactions } = database;
  const outbox = createOutbox({
    transactions,
    source: "/playground/protected",
    topics: { "order.*": { to: "broker" } },
  });
  const inbox = createInbox({ transactions, retentionMs: inboxRetentionMs });
  await outbox.migrate();
  await inbox.migrate();
  const { publisher, subscription } = inProcess();
  const events = new Map<string, EventMessage>();
  await createConsumer({ subscription, inbox, handlers }).start();
  await createRelay(outbox, {
    leaseMs: RELAY_LEASE_MS,
    routes: {
      broker: {
        ...publisher,
        publish: (event) => {
          events.set((event.key ?? "").split("/").at(-1) ?? "", event);
          return publisher.publish(event);
        },
      },
    },
  }).start();
  const { paid } = orderEvents(outbox);
  return {
    eventOf: (orderId) => events.get(orderId),
    deliver: async (event) => void (await publisher.publish(event)),
    async pay(order) {
      const outcome = await transactions.run(async (_tx, sql) => {
        if (!(await markPaid(sql, order.orderId))) return "already-paid" as const;
        await paid(sql, order.tenant, order);
        return "paid" as const;
      });
      if (outcome === "paid") await reach("committed");
      return outcome;
    },
  };
}
