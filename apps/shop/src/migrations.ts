/** The shop's schema. Each migration runs once, in this order: new ones go to the end of this list, whatever they change. */
import { accountMigrations } from "./accounts/account.ts";
import { stockMigrations } from "./orders/catalogue.ts";
import { orderMigrations } from "./orders/order.ts";
import { paymentMigrations } from "./payments/sqlite-payment-repository.ts";
import { refundMigrations } from "./payments/sqlite-refund-repository.ts";
import { userMigrations } from "./users/user.ts";

export const migrations: readonly string[] = [
  ...paymentMigrations,
  ...refundMigrations,
  ...accountMigrations,
  ...userMigrations,
  ...orderMigrations,
  ...stockMigrations,
];
