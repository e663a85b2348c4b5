/**
 * Crashes, counted by what they leave behind: a redelivered message is noted before it runs, and the note is taken back
 * however the attempt ends. Only a process that died in between leaves one. A broker's own count of deliveries would not
 * do: it grows with every restart, hand-back and outage, too.
 */
import type { EventMessage } from "../brokers/message.ts";
import type { TransactionRunner } from "../core/transaction.ts";
import { numberOf } from "../stores/shared/columns.ts";
import { keyOf, lookUp } from "./run-once.ts";
import type { Statements } from "./statement.ts";

export interface Starts {
  /** How many starts never ended, before this one; or what became of the message, where that is known. */
  begin(message: EventMessage, handler: string): Promise<number | "duplicate" | "conflict">;
  end(message: EventMessage, handler: string): Promise<void>;
}

export function createStarts(transactions: TransactionRunner<unknown>, statements: Statements): Starts {
  return {
    async begin(message, handler) {
      const key = keyOf(message, handler);
      const { id } = key;
      // Most redeliveries are duplicates: they cost one read.
      const found = await lookUp({ transactions, statements }, key);
      if (found !== undefined) return found.outcome;
      return transactions.run(async (_tx, handle) => {
        await statements(handle, "addStart", { handler, id });
        const { rows } = await statements(handle, "findStart", { handler, id });
        return rows[0] === undefined ? 0 : numberOf(rows[0], "starts") - 1;
      });
    },
    async end(message, handler) {
      const { id } = keyOf(message, handler);
      await transactions.run((_tx, handle) => statements(handle, "removeStart", { handler, id }));
    },
  };
}
