/** Takes up parked messages when their time has come: several keys at once, those of one key one after the other. */
import type { Environment, Timer } from "../core/contract/environment.ts";
import { settleMessage, type Attempts } from "./attempts.ts";
import type { ConsumerHandler } from "./handlers.ts";
import type { ParkedMessage } from "./parked.ts";

export interface Parking {
  start(): void;
  /** Something waits: it is looked for after so long. */
  wake(delayMs: number): void;
  /** Takes up no more; resolves when what runs has ended. */
  stop(): Promise<void>;
}

const keysMax = 100;
const atOnceMax = 4;

export function createParking<Tx>(
  attempts: Attempts,
  handlers: readonly ConsumerHandler<Tx>[],
  { environment, lookMs, signal }: { environment: Environment; lookMs: number; signal: AbortSignal },
): Parking {
  const { parked } = attempts.parts;
  let timer: Timer | undefined;
  let isOn = false;
  /** When the next look is wanted. */
  let dueMs = Number.POSITIVE_INFINITY;
  let looking: Promise<void> | undefined;

  /** Whether the next of its key may go. */
  async function takeUp(one: ParkedMessage, handler: ConsumerHandler<Tx>): Promise<boolean> {
    if (signal.aborted || attempts.isPaused() || !(await parked.take(one))) return false;
    const settled = await settleMessage(attempts, one.message, handler, { redelivered: true, parked: one });
    if (settled === "parked" || settled === "handed-back") return false;
    await parked.remove(one, handler.name);
    return true;
  }

  async function firsts(): Promise<(() => Promise<boolean>)[]> {
    const all: (() => Promise<boolean>)[] = [];
    for (const handler of handlers) {
      for (const one of await parked.due(handler.name, keysMax)) all.push(() => takeUp(one, handler));
    }
    return all;
  }

  async function look(): Promise<void> {
    for (;;) {
      if (attempts.isPaused()) return;
      const waiting = await firsts();
      let moved = false;
      const work = async (): Promise<void> => {
        try {
          for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) moved = (await next()) || moved;
        } catch (error) {
          // What the others have in hand comes to its end.
          attempts.emit({ type: "unavailable", error });
        }
      };
      await Promise.all(Array.from({ length: Math.min(atOnceMax, waiting.length) }, work));
      if (!moved || signal.aborted) return;
    }
  }

  async function nextMs(): Promise<number> {
    if (attempts.isPaused()) return lookMs;
    let soonestMs = lookMs;
    for (const { name } of handlers) soonestMs = Math.min(soonestMs, (await parked.nextMs(name)) ?? lookMs);
    return Math.max(1, soonestMs);
  }

  function wake(delayMs: number): void {
    const atMs = environment.monotonicMs() + delayMs;
    if (!isOn || atMs >= dueMs) return;
    dueMs = atMs;
    // The look under way sets the timer when it ends.
    if (looking === undefined) lookAt(delayMs);
  }

  function lookAt(delayMs: number): void {
    timer?.cancel();
    timer = environment.after(delayMs, () => {
      dueMs = Number.POSITIVE_INFINITY;
      looking = look()
        .catch((error: unknown) => attempts.emit({ type: "unavailable", error }))
        .then(nextMs)
        .catch(() => lookMs)
        .then((againMs) => {
          looking = undefined;
          if (isOn) lookAt(Math.max(0, Math.min(againMs, dueMs - environment.monotonicMs())));
        });
    });
  }

  return {
    start() {
      isOn = true;
      wake(lookMs);
    },
    wake,
    async stop() {
      isOn = false;
      dueMs = Number.POSITIVE_INFINITY;
      timer?.cancel();
      await looking;
    },
  };
}
