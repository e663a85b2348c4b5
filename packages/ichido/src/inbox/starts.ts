/**
 * Crashes, counted by what they leave behind: a redelivered message is noted before it runs, each attempt by a token of its
 * own, and the note is taken back however the attempt ends. Only a process that died in between leaves one. A broker's own
 * count of deliveries would not do: it grows with every restart, hand-back and outage, too.
 */
import type { EventMessage } from "../brokers/message.ts";
import type { Environment, Timer } from "../core/contract/environment.ts";
import type { TransactionHandle, TransactionRunner } from "../core/contract/transaction.ts";
import { numberOf } from "../sql/columns.ts";
import { unavailable } from "../sql/failures.ts";
import { keyOf, lookUp, resultOf, type InboxResult } from "./run-once.ts";
import type { Statements } from "./statement.ts";

export interface Start {
  readonly handler: string;
  readonly id: string;
  readonly token: string;
}

export interface Starts {
  /** How many earlier starts have not ended; or what became of the message, where that is known. */
  begin(
    message: EventMessage,
    handler: string,
  ): Promise<{ readonly start: Start; readonly crashes: number } | InboxResult>;
  /** Counts them again; undefined: the start itself is gone. */
  crashes(start: Start): Promise<number | undefined>;
  /** Whether it is still noted. Rejects with `store-unavailable` where that cannot be asked. */
  has(start: Start): Promise<boolean>;
  /** The attempt is over. Never rejects: what cannot be written now is written as soon as it can be. */
  end(start: Start): Promise<void>;
}

/** How soon a start is taken back once the database can be reached again. */
const takeBackMs = 500;
/** How many may wait for that; the oldest one beyond it is left, and looks like a death. */
const owedMax = 10_000;

export function createStarts(
  transactions: TransactionRunner<unknown>,
  statements: Statements,
  environment: Environment,
): Starts {
  /** Ended, or never begun as far as this process knows, and not taken back yet. */
  const owed = new Map<string, Start>();
  let timer: Timer | undefined;

  const remove = (handle: TransactionHandle, start: Start): Promise<unknown> =>
    statements(handle, "removeStart", { ...start });

  async function count(handle: TransactionHandle, start: Start): Promise<number | undefined> {
    const { rows } = await statements(handle, "countStarts", { ...start });
    return rows[0] === undefined ? undefined : numberOf(rows[0], "starts");
  }

  function owe(start: Start): void {
    owed.set(start.token, start);
    const [oldest] = owed.keys();
    if (owed.size > owedMax && oldest !== undefined) owed.delete(oldest);
    takeBackLater();
  }

  function takeBackLater(): void {
    timer ??= environment.after(takeBackMs, () => {
      timer = undefined;
      void takeBack();
    });
  }

  async function takeBack(): Promise<void> {
    try {
      for (const start of owed.values()) {
        await transactions.run((_tx, handle) => remove(handle, start));
        owed.delete(start.token);
      }
    } catch {
      takeBackLater();
    }
  }

  return {
    async begin(message, handler) {
      const key = keyOf(message, handler);
      const { id } = key;
      // Most redeliveries are duplicates: they cost one read.
      const found = await lookUp({ transactions, statements }, key);
      if (found !== undefined) return resultOf(found);
      const start = { handler, id, token: Buffer.from(environment.randomBytes(16)).toString("hex") };
      const mine = [...owed.values()].filter((each) => each.handler === handler && each.id === id);
      try {
        const crashes = await transactions.run(async (_tx, handle) => {
          for (const each of mine) await remove(handle, each);
          await statements(handle, "addStart", { ...start });
          return (await count(handle, start)) ?? 0;
        });
        for (const { token } of mine) owed.delete(token);
        return { start, crashes };
      } catch (error) {
        // It may have been committed although the answer did not come.
        owe(start);
        throw error;
      }
    },
    crashes: (start) => transactions.run((_tx, handle) => count(handle, start)),
    async has(start) {
      try {
        return (await transactions.run((_tx, handle) => count(handle, start))) !== undefined;
      } catch (error) {
        throw unavailable("whether the message's start is still noted cannot be asked", error);
      }
    },
    async end(start) {
      try {
        await transactions.run((_tx, handle) => remove(handle, start));
      } catch {
        owe(start);
      }
    },
  };
}
