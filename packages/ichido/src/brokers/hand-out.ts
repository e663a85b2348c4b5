/** From what a broker delivered to a taker's answer. The first answer counts; what a taker leaves without one goes back. */
import type { Taker } from "./broker.ts";
import { messageFrom } from "./headers.ts";
import type { EventMessage } from "./message.ts";

export interface RawDelivery {
  readonly headers: Readonly<Record<string, string>>;
  readonly payload: Uint8Array;
  readonly deliveries: number;
  ack(): void;
  retry(delayMs: number): void;
  working(): void;
}

const delayMsUnanswered = 1_000;

function read(raw: RawDelivery): { readonly message: EventMessage } | { readonly error: Error } {
  try {
    return { message: messageFrom(raw.headers, raw.payload) };
  } catch (error) {
    return { error: asError(error) };
  }
}

/** Resolves when the delivery was answered and the taker is done with it. */
export async function handOut(taker: Taker, raw: RawDelivery): Promise<void> {
  let open = true;
  const once =
    <Args extends unknown[]>(run: (...args: Args) => void) =>
    async (...args: Args): Promise<void> => {
      if (!open) return;
      open = false;
      run(...args);
    };
  const ack = once(() => raw.ack());
  const retry = once((delayMs: number) => raw.retry(delayMs));
  const working = async (): Promise<void> => {
    if (open) raw.working();
  };
  const { headers, payload, deliveries } = raw;
  const found = read(raw);
  try {
    if ("message" in found) await taker.take({ message: found.message, deliveries, ack, retry, working });
    else await taker.unreadable({ raw: payload, headers, error: found.error, deliveries, ack, retry });
  } catch (error) {
    taker.disturbed?.(asError(error));
  } finally {
    await retry(delayMsUnanswered);
  }
}

export function asError(value: unknown): Error {
  return value instanceof Error ? value : new Error(String(value));
}
