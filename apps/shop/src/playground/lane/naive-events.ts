/** The event goes straight to those who act on it, after the commit, as often as it is delivered. */
import { randomUUID } from "node:crypto";
import { payloadOf, type EventMessage } from "ichido/inbox";
import { ORDER_PAID, type OrderPaid } from "../../events/order-events.ts";
import { notifyPaid } from "../../notifications/notification.ts";
import { takeFromStock } from "../../orders/catalogue.ts";
import type { LaneParts } from "./lane.ts";
import { markPaid, type OrderFlow } from "./pay-order.ts";

export function naiveEvents({ database, reach }: LaneParts): OrderFlow {
  const { direct } = database;
  const events = new Map<string, EventMessage>();
  const deliver = async (event: EventMessage): Promise<void> => {
    const paid = payloadOf<OrderPaid>(event);
    await notifyPaid(direct, event.id, paid);
    await takeFromStock(direct, paid);
  };
  return {
    eventOf: (orderId) => events.get(orderId),
    deliver,
    async pay(order) {
      if (!(await markPaid(direct, order.orderId))) return "already-paid";
      await reach("row-settled");
      const event = eventOf(order);
      events.set(order.orderId, event);
      await deliver(event);
      return "paid";
    },
  };
}

function eventOf(order: OrderPaid): EventMessage {
  return {
    id: randomUUID(),
    topic: ORDER_PAID,
    key: order.orderId,
    source: "/playground/unprotected",
    time: new Date().toISOString(),
    contentType: "application/json",
    payload: new TextEncoder().encode(JSON.stringify(order)),
    headers: {},
  };
}
