/** What runs in this process in the name of keys: how closing ends it, and which handlers never answer. */
import { sleep, withDeadline } from "../contract/deadline.ts";
import type { Environment, Timer } from "../contract/environment.ts";
import type { IchidoListener } from "../contract/events.ts";
import type { LeaseAttempt } from "./lease-attempt.ts";
import type { Identity } from "../contract/record.ts";
import { localIdOf } from "../request/scope.ts";
import type { ClaimResult } from "../contract/store.ts";

export interface Running {
  /** Until it is done. */
  add(attempt: LeaseAttempt): void;
  find(identity: Identity): LeaseAttempt | undefined;
  readonly size: number;
  /** A ruling under way may be granted its claim: closing waits until that is given back. */
  track(ruling: Promise<void>): void;
  /** A question to the store that may be granted at any time until it is answered. */
  sent(claim: Promise<ClaimResult>): Promise<ClaimResult>;
  readonly isClosing: boolean;
  /** Closing waits no longer: nothing more is claimed. */
  readonly isClosed: boolean;
  /** `idle`: resolves when no transaction is open. `lookForLost`: gives back what claims were granted unheard. */
  close(parts: { readonly idle: () => Promise<void>; readonly lookForLost: () => Promise<void> }): Promise<void>;
}

export function createRunning(environment: Environment, closeMs: number): Running {
  const attempts = new Map<string, LeaseAttempt>();
  const rulings = new Set<Promise<void>>();
  const claims = new Set<Promise<ClaimResult>>();
  let isClosing = false;
  let isClosed = false;

  async function quiet(): Promise<void> {
    while (attempts.size > 0 || rulings.size > 0) {
      await Promise.allSettled([...[...attempts.values()].map((each) => each.done), ...rulings]);
      await sleep(environment, 0);
    }
  }

  /** What was granted last is an attempt by then. */
  async function answered(): Promise<void> {
    if (claims.size === 0) return;
    await Promise.allSettled(claims);
    await sleep(environment, 0);
  }

  return {
    add(attempt) {
      const id = localIdOf(attempt.ask.identity);
      attempts.set(id, attempt);
      void attempt.done.then(() => {
        if (attempts.get(id) === attempt) attempts.delete(id);
      });
    },
    find: (identity) => attempts.get(localIdOf(identity)),
    get size() {
      return attempts.size;
    },
    track(ruling) {
      rulings.add(ruling);
      void ruling.finally(() => rulings.delete(ruling));
    },
    sent(claim) {
      claims.add(claim);
      return claim.finally(() => claims.delete(claim));
    },
    get isClosing() {
      return isClosing;
    },
    get isClosed() {
      return isClosed;
    },
    async close({ idle, lookForLost }) {
      isClosing = true;
      await withDeadline(environment, closeMs, quiet).catch(() => undefined);
      isClosed = true;
      const heard = (): Promise<void> => answered().then(lookForLost);
      await Promise.allSettled([idle, heard].map((end) => withDeadline(environment, closeMs, end)));
      const left = [...attempts.values()];
      await Promise.all(left.map((each) => (each.started ? each.handOver() : each.giveBack())));
    },
  };
}

interface Watched {
  readonly operation: string;
  readonly mode: "lease" | "transaction";
  readonly sinceMs: number;
}

export interface SilentHandlers {
  watch(handler: { readonly done: Promise<void> }, route: Omit<Watched, "sinceMs">): void;
  stop(): void;
}

/** Tells of handlers that never answer: without a warning it would not be clear why their keys stay locked. */
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
