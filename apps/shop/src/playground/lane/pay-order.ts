/**
 * Orders and what follows from paying one, in both lanes: a mail and a unit less in stock. The effects are the shop's own
 * functions; the lanes differ in how a paid order gets to them.
 */
import { Router, type Request, type Response } from "express";
import type { EventMessage } from "ichido/inbox";
import { change, select, type Sql } from "../../database/database.ts";
import { inDialect } from "../../database/schema.ts";
import type { OrderPaid } from "../../events/order-events.ts";
import { notificationTable } from "../../notifications/notification.ts";
import { stockTable } from "../../orders/catalogue.ts";
import type { LaneParts } from "./lane.ts";

export const PRODUCT = "coffee-machine";
const STOCK_AT_FIRST = 1_000;

const orderTable = `CREATE TABLE IF NOT EXISTS orders (order_id {name} PRIMARY KEY, paid_at {name} NOT NULL){table}`;

export async function openOrders(sql: Sql): Promise<void> {
  for (const table of [orderTable, notificationTable, stockTable]) {
    await sql.execute(inDialect(sql.dialect, table), []);
  }
  const [row] = await select(sql)`SELECT quantity FROM stock WHERE product_id = ${PRODUCT}`;
  if (row !== undefined) return;
  await change(sql)`INSERT INTO stock (product_id, quantity) VALUES (${PRODUCT}, ${STOCK_AT_FIRST})`;
}

/** How a lane makes an order paid, and brings the event to those who act on it. */
export interface OrderFlow {
  pay(order: OrderPaid): Promise<"paid" | "already-paid">;
  /** What a broker does when it did not hear an acknowledgement. `undefined`: no event of this order was ever sent. */
  eventOf(orderId: string): EventMessage | undefined;
  deliver(event: EventMessage): Promise<void>;
}

/** True where this call has paid it. */
export async function markPaid(sql: Sql, orderId: string): Promise<boolean> {
  const ending = "ON CONFLICT (order_id) DO NOTHING";
  const at = new Date().toISOString();
  return (await change(sql, ending)`INSERT INTO orders (order_id, paid_at) VALUES (${orderId}, ${at})`) === 1;
}

const DELIVERIES_MAX = 20;

export function orderRoutes(flow: OrderFlow, { tell }: LaneParts): Router {
  const router = Router();
  router.post("/:orderId/pay", async (request: Request<{ orderId: string }>, response: Response) => {
    const { orderId } = request.params;
    const order = { tenant: "playground", orderId, productId: PRODUCT, quantity: 1, amount: 4_200, currency: "EUR" };
    const outcome = await flow.pay(order);
    tell({ what: "order", detail: outcome });
    response.json({ orderId, status: outcome });
  });
  router.post("/:orderId/deliveries", async (request: Request<{ orderId: string }>, response: Response) => {
    const event = flow.eventOf(request.params.orderId);
    const { times } = request.body as { readonly times?: unknown };
    if (event === undefined || !Number.isInteger(times) || Number(times) < 1 || Number(times) > DELIVERIES_MAX) {
      response.status(400).json({ detail: `no event of this order, or times is not 1 to ${DELIVERIES_MAX}` });
      return;
    }
    for (let delivery = 0; delivery < Number(times); delivery += 1) {
      tell({ what: "delivery", detail: `event ${event.id}` });
      await flow.deliver(event);
    }
    response.json({ event: event.id, delivered: times });
  });
  return router;
}
