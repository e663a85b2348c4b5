import type { IchidoEvent } from "../contract/events.ts";
import { secondConnection } from "../contract/transaction.ts";

/** Called when a transaction is held for too long: without it the most likely cause would be a silent stand-still. */
export function overdue(operation: string, transactionMs: number): IchidoEvent {
  const message =
    `${operation}: its transaction was held for longer than transactionMs (${transactionMs}) and is given up; nothing of ` +
    `it is kept. ${secondConnection}`;
  return { type: "warning", code: "transaction-overdue", message };
}
