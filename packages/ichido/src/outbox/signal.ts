/** What a loop sleeps on. A signal that comes while it works is kept for its next rest. */
import type { Environment, Timer } from "../core/contract/environment.ts";

export interface Signal {
  raise(): void;
  /** Until the next signal, or for so long. */
  rest(ms: number): Promise<void>;
  /** Until the condition holds; it is looked at on every signal. False when the time ran out. */
  until(holds: () => boolean, ms?: number): Promise<boolean>;
}

/** Every part of the relay raises the signal; should one forget it, the loop looks by itself. */
const lookMs = 100;

export function createSignal(environment: Environment): Signal {
  let raised = false;
  let release: (() => void) | undefined;

  async function rest(ms: number): Promise<void> {
    if (!raised) {
      let timer: Timer | undefined;
      await new Promise<void>((resolve) => {
        release = resolve;
        timer = environment.after(ms, resolve, { hold: true });
      });
      release = undefined;
      timer?.cancel();
    }
    raised = false;
  }

  return {
    raise() {
      raised = true;
      release?.();
    },
    rest,
    async until(holds, ms = Number.POSITIVE_INFINITY) {
      const endMs = environment.monotonicMs() + ms;
      while (!holds()) {
        const leftMs = endMs - environment.monotonicMs();
        if (leftMs <= 0) return false;
        await rest(Math.min(leftMs, lookMs));
      }
      return true;
    },
  };
}
