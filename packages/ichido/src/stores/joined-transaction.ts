/** A store joins a transaction of its own database alone. */
import { IchidoError } from "../core/contract/errors.ts";
import type { TransactionHandle } from "../core/contract/transaction.ts";

export function requireDialect(dialect: TransactionHandle["dialect"], transaction: TransactionHandle): void {
  if (transaction.dialect === dialect) return;
  throw new IchidoError(
    "usage-invalid",
    `transaction: expected a handle on ${dialect}, got one on ${transaction.dialect}; the record and the business writes must ` +
      "be in one database",
  );
}
