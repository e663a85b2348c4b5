/** Orders: created under an id that the shop makes, or that the client chose. */
import { createOnce } from "ichido/guards";
import { select, type Sql } from "../database/database.ts";
import { newId } from "../ids.ts";
import { enter, lead, type Attempt } from "../payments/attempts.ts";
import { productOf } from "./catalogue.ts";

export type OrderStatus = "pending" | "paid";

export interface OrderName {
  readonly tenant: string;
  readonly orderId: string;
}

export interface OrderRequest {
  readonly productId: string;
  readonly quantity: number;
}

export interface Order extends OrderRequest {
  readonly orderId: string;
  /** Quantity × price on the day it was ordered, in minor units. */
  readonly amount: number;
  readonly currency: string;
  readonly status: OrderStatus;
  readonly version: number;
  readonly createdAt: string;
}

export const orderTable = `CREATE TABLE IF NOT EXISTS orders (
  tenant {id} NOT NULL, order_id {id} NOT NULL, user_id {name} NOT NULL, product_id {name} NOT NULL,
  quantity {integer} NOT NULL CHECK (quantity > 0), amount {integer} NOT NULL CHECK (amount > 0),
  currency {name} NOT NULL, status {name} NOT NULL CHECK (status IN ('pending', 'paid')), version {integer} NOT NULL,
  created_at {name} NOT NULL, PRIMARY KEY (tenant, order_id)
){table}`;

export type PlaceResult =
  | { readonly outcome: "created" | "same"; readonly order: Order }
  | { readonly outcome: "conflict" };

/** Only product and quantity make an order the same: its price may have changed since. */
export async function placeOrder(
  on: Sql,
  name: OrderName & { readonly user: string },
  { productId, quantity }: OrderRequest,
): Promise<PlaceResult> {
  const { tenant, orderId, user } = name;
  const product = productOf(productId);
  if (product === undefined) throw new Error(`product ${productId} was not checked`);
  const { outcome } = await createOnce(on, {
    table: "orders",
    key: { tenant, order_id: orderId },
    content: { product_id: productId, quantity },
    other: {
      user_id: user,
      amount: product.price * quantity,
      currency: product.currency,
      status: "pending",
      version: 1,
      created_at: new Date().toISOString(),
    },
  });
  const order = outcome === "conflict" ? undefined : await findOrder(on, name);
  return outcome === "conflict" || order === undefined ? { outcome: "conflict" } : { outcome, order };
}

/** Under an id that the shop makes. A later attempt under the same reference gets the order that an earlier one placed. */
export async function orderOnce(
  sql: Sql,
  attempt: Attempt,
  { tenant, user }: { readonly tenant: string; readonly user: string },
  request: OrderRequest,
): Promise<Order | "overtaken"> {
  const entered = await enter(sql, attempt);
  if (entered === "overtaken") return "overtaken";
  const { entryId } = entered;
  const former = entryId === undefined ? undefined : await findOrder(sql, { tenant, orderId: entryId });
  if (former !== undefined && attempt.number > 1) return former;
  const name = { tenant, user, orderId: newId() };
  const placed = await placeOrder(sql, name, request);
  if (placed.outcome !== "created") throw new Error(`the new id ${name.orderId} was taken`);
  await lead(sql, attempt, name.orderId);
  return placed.order;
}

interface Row {
  readonly product_id: string;
  readonly quantity: number;
  readonly amount: number;
  readonly currency: string;
  readonly status: OrderStatus;
  readonly version: number;
  readonly created_at: string;
}

export async function findOrder(on: Sql, { tenant, orderId }: OrderName): Promise<Order | undefined> {
  const [row] = await select<Row>(on)`SELECT * FROM orders WHERE tenant = ${tenant} AND order_id = ${orderId}`;
  if (row === undefined) return undefined;
  const { product_id: productId, quantity, amount, currency, status, version, created_at: createdAt } = row;
  return { orderId, productId, quantity, amount, currency, status, version, createdAt };
}
