/** What the handlers of keyed routes share. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Request, Response } from "express";
import type { Context, Store } from "ichido";
import type { TransactionHandle } from "ichido/transactions";
import type { Database } from "../database/database.ts";
import type { Attempt } from "../payments/attempts.ts";
import { sendAnswer, type Answer } from "./answer.ts";

/** The context of a request that ichido let through to its handler. */
export function contextOf(request: Request): Context {
  if (request.idempotency === undefined) throw new Error("this handler must run behind idempotency()");
  return request.idempotency;
}

/** `effect` names the external effect: with the key and the content it makes the bank's reference. */
export function attemptOf(key: Context, effect: string): Attempt {
  const { attempt: number, fence, signal } = key;
  return { reference: key.reference(effect), number, fence, signal };
}

/** Runs the writes of a keyed handler in a transaction, and answers. */
export type KeyedWrites = (
  key: Context,
  response: Response,
  write: (sql: TransactionHandle) => Promise<Answer>,
) => Promise<void>;

/**
 * Where the keys are in the same database, the answer commits with the writes. Keys in Redis learn of it afterwards: an
 * attempt that left no answer may have written, so what is written must bear a second attempt, by the reference that both
 * of them have or by the state it moves.
 */
export function keyedWrites({ capabilities }: Store, { transactions }: Database): KeyedWrites {
  if (capabilities.transactions === false) {
    return async (_key, response, write) => sendAnswer(response, await transactions.run((_tx, sql) => write(sql)));
  }
  return async (key, _response, write) => void (await key.transaction(transactions, (_tx, sql) => write(sql)));
}

/** For demonstrations: time to send a second request, or to pull the plug. */
export async function dawdle(handlerDelayMs: number): Promise<void> {
  if (handlerDelayMs > 0) await sleep(handlerDelayMs);
}
