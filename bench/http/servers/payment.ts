/** What every handler does: an effect that can be counted, and an answer of about 150 bytes. */
import { randomBytes, randomUUID } from "node:crypto";

/** That of Fastify: by Node's five seconds a server that is busy for longer closes connections in use. */
export const keepAliveMs = 72_000;

let effects = 0;

export const effectsNow = (): number => effects;

export function payment(): { readonly id: string } & Readonly<Record<string, unknown>> {
  effects += 1;
  return { id: randomUUID(), amount: 100, currency: "JPY", state: "captured", reference: "order 2026-11 of Ann, paid" };
}

/** Bytes that are no text, for the cases of --check. */
export const someFile = (): Buffer => randomBytes(65_536);
