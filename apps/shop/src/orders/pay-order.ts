/** Paying an order: the state and the event are one commit, so that nothing of it happens twice or half. */
import { defineTransitions } from "ichido/guards";
import type { TransactionHandle } from "ichido/transactions";
import type { OrderEvents } from "../events/order-events.ts";
import { findOrder, type Order, type OrderName } from "./order.ts";

const moves = defineTransitions({ pending: ["paid"] });

export type PayResult =
  | { readonly outcome: "paid" | "already" }
  | { readonly outcome: "absent" }
  | { readonly outcome: "mismatch"; readonly order: Order };

/** A paid order stays paid, whatever amount a later caller names. */
export async function payOrder(
  sql: TransactionHandle,
  events: OrderEvents,
  name: OrderName,
  amount: number,
): Promise<PayResult> {
  const order = await findOrder(sql, name);
  if (order === undefined) return { outcome: "absent" };
  if (order.status === "paid") return { outcome: "already" };
  if (order.amount !== amount) return { outcome: "mismatch", order };
  const { outcome } = await moves.move(sql, {
    table: "orders",
    key: { tenant: name.tenant, order_id: name.orderId },
    column: "status",
    to: "paid",
    set: { version: order.version + 1 },
  });
  // Another caller was faster between the look and the move.
  if (outcome !== "applied") return { outcome: "already" };
  await events.paid(sql, name.tenant, order);
  return { outcome: "paid" };
}
