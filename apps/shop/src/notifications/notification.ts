/** What a buyer is told. Written by a consumer of events, once for each event. */
import { change, select, type Sql } from "../database/database.ts";
import type { OrderPaid } from "../events/order-events.ts";
import { newId } from "../ids.ts";

export interface Notification {
  readonly orderId: string;
  readonly eventId: string;
  readonly message: string;
  readonly createdAt: string;
}

/** Its own id is new each time: that there is one for each event is the inbox's promise, and a second one would show. */
export const notificationTable = `CREATE TABLE IF NOT EXISTS notifications (
  tenant {id} NOT NULL, order_id {id} NOT NULL, notification_id {id} NOT NULL, event_id {name} NOT NULL,
  message {text} NOT NULL, created_at {name} NOT NULL, PRIMARY KEY (tenant, order_id, notification_id)
){table}`;

const MOST = 100;

export async function notifyPaid(on: Sql, eventId: string, paid: OrderPaid): Promise<void> {
  const { tenant, orderId, amount, currency } = paid;
  const message = `Order ${orderId} is paid: ${(amount / 100).toFixed(2)} ${currency}.`;
  const at = new Date().toISOString();
  await change(on)`INSERT INTO notifications (tenant, order_id, notification_id, event_id, message, created_at)
    VALUES (${tenant}, ${orderId}, ${newId()}, ${eventId}, ${message}, ${at})`;
}

interface Row {
  readonly event_id: string;
  readonly message: string;
  readonly created_at: string;
}

export async function findNotifications(on: Sql, tenant: string, orderId: string): Promise<readonly Notification[]> {
  const rows = await select<Row>(on)`SELECT event_id, message, created_at FROM notifications
    WHERE tenant = ${tenant} AND order_id = ${orderId} ORDER BY created_at LIMIT ${MOST}`;
  return rows.map((row) => ({
    orderId,
    eventId: row.event_id,
    message: row.message,
    createdAt: row.created_at,
  }));
}
