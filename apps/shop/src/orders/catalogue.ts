/** The built-in catalogue. Prices are the shop's own; stock is counted in the database. */
import { change, select, type Sql } from "../database/database.ts";

export interface Product {
  readonly productId: string;
  /** In minor units, for one. */
  readonly price: number;
  readonly currency: string;
}

const products: readonly Product[] = [
  { productId: "prod-123", price: 1_500, currency: "EUR" },
  { productId: "prod-456", price: 2_990, currency: "EUR" },
  { productId: "prod-789", price: 12_000, currency: "EUR" },
];

const STOCK_AT_FIRST = 100_000;

export const stockTable = `CREATE TABLE IF NOT EXISTS stock (
  product_id {name} PRIMARY KEY, quantity {integer} NOT NULL
){table}`;

export const stockAtFirst: ReadonlyMap<string, number> = new Map(
  products.map(({ productId }) => [productId, STOCK_AT_FIRST]),
);

export function productOf(productId: string): Product | undefined {
  return products.find((product) => product.productId === productId);
}

export async function stockOf(on: Sql, { productId }: Product): Promise<number> {
  const [row] = await select<{ quantity: number }>(on)`SELECT quantity FROM stock WHERE product_id = ${productId}`;
  return row?.quantity ?? 0;
}

/** What was paid is no longer for sale. May go below nothing: the order was paid, and somebody must buy more. */
export async function takeFromStock(
  on: Sql,
  { productId, quantity }: { readonly productId: string; readonly quantity: number },
): Promise<void> {
  await change(on)`UPDATE stock SET quantity = quantity - ${quantity} WHERE product_id = ${productId}`;
}
