/** What runs in this process in the name of keys: how closing ends it, and which handlers never answer. */
import { sleep, withDeadline } from "../contract/deadline.ts";
import type { Environment, Timer } from "../contract/environment.ts";
import type { IchidoListener } from "../contract/events.ts";
import type { Attempt } from "./attempt.ts";
import { Chain, type Link } from "../contract/chain.ts";
import type { LeaseAttempt } from "./lease-attempt.ts";
import type { Identity } from "../contract/record.ts";
import { cameLater } from "../record-machine/record.ts";
import { localIdOf } from "../request/scope.ts";
import type { Ask } from "./ruling.ts";

export interface Running {
  /** Until it ends. */
  add(attempt: LeaseAttempt): void;
  /** No claim of this process was granted the key after its own. */
  isLatest(attempt: LeaseAttempt): boolean;
  remove(attempt: Attempt): void;
  find(identity: Identity): LeaseAttempt | undefined;
  readonly size: number;
  /** A ruling under way may be granted its claim: closing waits until that is given back. */
  rulingBegins(): void;
  rulingEnds(): void;
  /** A question to the store that may be granted at any time until it is answered. */
  claimSent(): void;
  claimAnswered(): void;
  readonly isClosing: boolean;
  /** Closing waits no longer: nothing more is claimed. */
  readonly isClosed: boolean;
  /** Attempts whose handler runs. */
  started(): readonly LeaseAttempt[];
  /**
   * `idle`: resolves when no transaction is open. `lookForLost`: gives back what claims were granted unheard. Returns the
   * attempts whose handlers did not finish in time, which were handed over.
   */
  close(parts: {
    readonly idle: () => Promise<void>;
    readonly lookForLost: () => Promise<void>;
    readonly bounds: CloseBounds;
  }): Promise<readonly LeaseAttempt[]>;
}

/**
 * What the map holds in place of an attempt, empty once that has ended. A map that takes and loses entries is copied again
 * and again by V8, and a copy that is left behind keeps what was in it, with the whole request, out of the hands of the
 * quick collections of young objects.
 */
interface Place {
  attempt: LeaseAttempt | undefined;
}

/** How long handlers may go on, and how long what comes after that may take. */
export interface CloseBounds {
  readonly closeMs: number;
  readonly handOverMs: number;
}

export function createRunning(environment: Environment): Running {
  const attempts = new Map<string, Place>();
  /** Whose key another attempt of this process has by now. */
  const overtaken = new Set<LeaseAttempt>();
  let rulings = 0;
  let claims = 0;
  let isClosing = false;
  let isClosed = false;
  /** Made where closing waits for something to end. */
  let change: PromiseWithResolvers<void> | undefined;

  function changed(): void {
    change?.resolve();
    change = undefined;
  }

  const all = (): readonly LeaseAttempt[] => [
    ...[...attempts.values()].flatMap(({ attempt }) => attempt ?? []),
    ...overtaken,
  ];

  async function until(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      change ??= Promise.withResolvers<void>();
      await change.promise;
      // What was granted last is an attempt by then.
      await sleep(environment, 0);
    }
  }

  return {
    add(attempt) {
      const id = localIdOf(attempt.ask.identity);
      const former = attempts.get(id)?.attempt;
      // Grants may be told in another order than they were made.
      if (former !== undefined && cameLater(former.claim, attempt.claim)) {
        overtaken.add(attempt);
        return;
      }
      if (former !== undefined) overtaken.add(former);
      attempts.set(id, { attempt });
    },
    isLatest: (attempt) => overtaken.size === 0 || !overtaken.has(attempt),
    remove(attempt) {
      const id = localIdOf(attempt.ask.identity);
      if (overtaken.size > 0) overtaken.delete(attempt as LeaseAttempt);
      const place = attempts.get(id);
      if (place?.attempt === attempt) {
        place.attempt = undefined;
        attempts.delete(id);
      }
      changed();
    },
    find: (identity) => attempts.get(localIdOf(identity))?.attempt,
    get size() {
      return attempts.size;
    },
    rulingBegins() {
      rulings += 1;
    },
    rulingEnds() {
      rulings -= 1;
      changed();
    },
    claimSent() {
      claims += 1;
    },
    claimAnswered() {
      claims -= 1;
      changed();
    },
    get isClosing() {
      return isClosing;
    },
    get isClosed() {
      return isClosed;
    },
    started: () => all().filter((attempt) => attempt.started),
    async close({ idle, lookForLost, bounds: { closeMs, handOverMs } }) {
      isClosing = true;
      const quiet = (): Promise<void> => until(() => attempts.size + overtaken.size === 0 && rulings === 0);
      await withDeadline(environment, closeMs, quiet).catch(() => undefined);
      isClosed = true;
      const heard = (): Promise<void> => until(() => claims === 0).then(lookForLost);
      await Promise.allSettled([idle, heard].map((end) => withDeadline(environment, handOverMs, end)));
      const left = all();
      const unfinished = left.filter((attempt) => attempt.started);
      const end = (): Promise<unknown> =>
        Promise.all(left.map((each) => (each.started ? each.handOver() : each.giveBack())));
      await withDeadline(environment, handOverMs, end).catch(() => undefined);
      return unfinished;
    },
  };
}

/** A handler that was called and has not ended. */
export interface Watched extends Link<Watched> {
  readonly ask: Pick<Ask<never>, "route">;
  /** When it was called; undefined: it is not watched. */
  watchedMs: number | undefined;
}

export interface SilentHandlers {
  watch(handler: Watched): void;
  ended(handler: Watched): void;
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
  const running = new Chain<Watched>();
  const told = new Set<string>();
  let timer: Timer | undefined;

  function arm(sinceMs: number): void {
    timer ??= environment.after(Math.max(1, sinceMs + afterMs - environment.monotonicMs()), () => {
      timer = undefined;
      tell();
    });
  }

  function ended(handler: Watched): void {
    if (handler.watchedMs === undefined) return;
    handler.watchedMs = undefined;
    running.remove(handler);
  }

  function tell(): void {
    const nowMs = environment.monotonicMs();
    for (let handler = running.first; handler !== undefined; handler = running.first) {
      const { operation, mode } = handler.ask.route;
      const sinceMs = handler.watchedMs ?? nowMs;
      if (nowMs - sinceMs < afterMs) return arm(sinceMs);
      ended(handler);
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
    watch(handler) {
      const sinceMs = environment.monotonicMs();
      handler.watchedMs = sinceMs;
      running.add(handler);
      arm(sinceMs);
    },
    ended,
    stop: () => timer?.cancel(),
  };
}
