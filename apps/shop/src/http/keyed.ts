/** What the handlers of keyed routes share. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Request } from "express";
import type { Context } from "ichido";
import type { Attempt } from "../payments/attempts.ts";

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

/** For demonstrations: time to send a second request, or to pull the plug. */
export async function dawdle(handlerDelayMs: number): Promise<void> {
  if (handlerDelayMs > 0) await sleep(handlerDelayMs);
}
