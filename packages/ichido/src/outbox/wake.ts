/** Tells relays that something was committed: those of this process directly, others through the channel, if there is one. */
import type { Environment, Timer } from "../core/contract/environment.ts";
import type { WakeChannel } from "./wake-channel.ts";

export interface Wake {
  /** Now: a commit was seen. */
  now(): void;
  /** In a moment: an event was added to a transaction that we shall not see commit. */
  soon(): void;
  listen(listener: () => void): () => Promise<void>;
}

/** About the time that the rest of a short transaction takes; polling finds what commits later. */
const soonMs = 5;

export function createWake(environment: Environment, channel?: WakeChannel): Wake {
  const listeners = new Set<() => void>();
  let timer: Timer | undefined;
  const now = (): void => {
    for (const listener of listeners) listener();
    channel?.notify();
  };
  return {
    now,
    soon() {
      if (timer !== undefined || (listeners.size === 0 && channel === undefined)) return;
      timer = environment.after(soonMs, () => {
        timer = undefined;
        now();
      });
    },
    listen(listener) {
      listeners.add(listener);
      const unlisten = channel?.listen(listener);
      return async () => {
        listeners.delete(listener);
        await unlisten?.();
      };
    },
  };
}
