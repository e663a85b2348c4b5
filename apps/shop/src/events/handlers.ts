/** Who acts on events. Each handler takes effect once for each event, in one transaction with the note that it did. */
import type { ConsumerHandler } from "ichido/inbox";
import { notifyPaid } from "../notifications/notification.ts";
import { takeFromStock } from "../orders/catalogue.ts";
import { ORDER_PAID, readOrderPaid } from "./order-events.ts";

export const handlers: readonly ConsumerHandler<unknown>[] = [
  {
    name: "notifications",
    topics: [ORDER_PAID],
    once: async (_tx, { handle, message }) => notifyPaid(handle, message.id, readOrderPaid(message)),
  },
  {
    name: "stock",
    topics: [ORDER_PAID],
    once: async (_tx, { handle, message }) => takeFromStock(handle, readOrderPaid(message)),
  },
];
