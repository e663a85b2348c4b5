/** The built-in catalogue. Prices are the shop's own; stock is counted in the database. */
import { select, type Sql } from "../sql.ts";

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

export const stockMigrations: readonly string[] = [
  `CREATE TABLE stock (product_id TEXT PRIMARY KEY, quantity INTEGER NOT NULL) STRICT;
   INSERT INTO stock VALUES ${products.map(({ productId }) => `('${productId}', ${STOCK_AT_FIRST})`).join(", ")};`,
];

export function productOf(productId: string): Product | undefined {
  return products.find((product) => product.productId === productId);
}

export async function stockOf(on: Sql, { productId }: Product): Promise<number> {
  const [row] = await select<{ quantity: number }>(on)`SELECT quantity FROM stock WHERE product_id = ${productId}`;
  return row?.quantity ?? 0;
}
