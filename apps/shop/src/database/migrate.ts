/**
 * The shop's schema. Each migration runs once, in this order: new ones go to the end of the list, whatever they change.
 * MySQL commits every CREATE by itself, so a migration that was cut off runs again: its statements must bear that.
 */
import { randomUUID } from "node:crypto";
import { createOnce } from "ichido/guards";
import { accountTables } from "../accounts/account.ts";
import { notificationTable } from "../notifications/notification.ts";
import { stockAtFirst, stockTable } from "../orders/catalogue.ts";
import { orderTable } from "../orders/order.ts";
import { attemptTable } from "../payments/attempts.ts";
import { paymentTable } from "../payments/sql-payment-repository.ts";
import { refundTable } from "../payments/sql-refund-repository.ts";
import { userTable } from "../users/user.ts";
import { change, select, type Database, type Sql } from "./database.ts";
import { inDialect } from "./schema.ts";

/** Which database this is, however it is reached: what shops keep elsewhere is filed under this name. */
const identityTable = "CREATE TABLE IF NOT EXISTS shop_identity (place {integer} PRIMARY KEY, name {name} NOT NULL)";

const migrations: readonly (readonly string[])[] = [
  [identityTable, attemptTable, paymentTable, refundTable, ...accountTables, userTable, orderTable, stockTable],
  [notificationTable],
];

const ledger = "CREATE TABLE IF NOT EXISTS shop_migrations (version {integer} PRIMARY KEY, applied_at {name} NOT NULL)";

/** Gives the name of the database. */
export async function migrate(database: Database): Promise<string> {
  await database.alone(async (sql) => {
    const run = (text: string) => sql.execute(inDialect(sql.dialect, text), []);
    await run(ledger);
    const [applied] = await select<{ version: number | null }>(
      sql,
    )`SELECT max(version) AS version FROM shop_migrations`;
    const from = applied?.version ?? 0;
    for (const [index, statements] of migrations.slice(from).entries()) {
      for (const statement of statements) await run(statement);
      const at = new Date().toISOString();
      await change(sql)`INSERT INTO shop_migrations (version, applied_at) VALUES (${from + index + 1}, ${at})`;
    }
    await addRows(sql);
  });
  return databaseName(database);
}

export async function databaseName({ direct }: Database): Promise<string> {
  const [identity] = await select<{ name: string }>(direct)`SELECT name FROM shop_identity`;
  return identity?.name ?? "";
}

async function addRows(sql: Sql): Promise<void> {
  await createOnce(sql, { table: "shop_identity", key: { place: 1 }, content: {}, other: { name: randomUUID() } });
  for (const [productId, quantity] of stockAtFirst) {
    await createOnce(sql, { table: "stock", key: { product_id: productId }, content: {}, other: { quantity } });
  }
}
