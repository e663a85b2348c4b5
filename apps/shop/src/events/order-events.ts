/** What the shop tells others about orders, and in which words. */
import type { Outbox } from "ichido/outbox";
import type { EventMessage } from "ichido/inbox";
import { payloadOf } from "ichido/inbox";
import type { TransactionHandle } from "ichido/transactions";
import type { Order } from "../orders/order.ts";

export const ORDER_PAID = "order.paid";

export interface OrderPaid {
  readonly tenant: string;
  readonly orderId: string;
  readonly productId: string;
  readonly quantity: number;
  readonly amount: number;
  readonly currency: string;
}

type PaidOrder = Pick<Order, "orderId" | "productId" | "quantity" | "amount" | "currency">;

export interface OrderEvents {
  /** Inside the transaction that pays the order: the event is there when the payment is. */
  paid(this: void, sql: TransactionHandle, tenant: string, order: PaidOrder): Promise<void>;
}

export function orderEvents(outbox: Pick<Outbox, "add">): OrderEvents {
  return {
    async paid(sql, tenant, { orderId, productId, quantity, amount, currency }) {
      const payload: OrderPaid = { tenant, orderId, productId, quantity, amount, currency };
      await outbox.add(sql, { topic: ORDER_PAID, key: `${tenant}/${orderId}`, payload });
    },
  };
}

export function readOrderPaid(message: EventMessage): OrderPaid {
  return payloadOf<OrderPaid>(message);
}
