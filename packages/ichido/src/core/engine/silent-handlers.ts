/** Tells of handlers that never answer: without a word, nobody would learn why their keys stay locked. */
import type { Environment, Timer } from "../contract/environment.ts";
import type { IchidoListener } from "../contract/events.ts";

interface Watched {
  readonly operation: string;
  readonly mode: "lease" | "transaction";
  readonly sinceMs: number;
}

export interface SilentHandlers {
  watch(handler: { readonly done: Promise<void> }, route: Omit<Watched, "sinceMs">): void;
  stop(): void;
}

export function createSilentHandlers(parts: {
  readonly environment: Environment;
  readonly emit: IchidoListener;
  readonly afterMs: number;
  readonly executionMs: number;
}): SilentHandlers {
  const { environment, emit, afterMs } = parts;
  /** In the order in which they began. */
  const running = new Map<object, Watched>();
  const told = new Set<string>();
  let timer: Timer | undefined;

  function arm(sinceMs: number): void {
    timer ??= environment.after(Math.max(1, sinceMs + afterMs - environment.monotonicMs()), () => {
      timer = undefined;
      tell();
    });
  }

  function tell(): void {
    const nowMs = environment.monotonicMs();
    for (const [handler, { operation, mode, sinceMs }] of running) {
      if (nowMs - sinceMs < afterMs) return arm(sinceMs);
      running.delete(handler);
      if (told.has(operation)) continue;
      told.add(operation);
      emit({
        type: "warning",
        code: "handler-silent",
        message:
          `${operation}: a handler has not answered for ${Math.round(afterMs / 1000)} s. Its key stays locked until it does, for ` +
          `at most ${Math.round(parts.executionMs / 1000)} s (executionMs). Does every way through it answer?` +
          (mode === "transaction" ? " It holds a connection: does it wait for another one of the same pool?" : ""),
      });
    }
  }

  return {
    watch(handler, route) {
      const sinceMs = environment.monotonicMs();
      running.set(handler, { ...route, sinceMs });
      arm(sinceMs);
      void handler.done.then(() => running.delete(handler));
    },
    stop: () => timer?.cancel(),
  };
}
