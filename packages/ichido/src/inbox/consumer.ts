/**
 * Takes deliveries from a subscription and answers them: acknowledged once every handler that wants the topic has an
 * outcome that is committed. What no handler wants is kept as a dead letter, so that nothing behind it waits.
 */
import { createListeners } from "../core/contract/listeners.ts";
import { loggerOption, logsTo, type Logger, type LogLevel } from "../core/contract/logger.ts";
import type { Tracing } from "../core/contract/tracing.ts";
import { given, oneOf, optional, positive, readOptions } from "../core/contract/read-options.ts";
import type { Delivery, Subscription, UnreadableDelivery } from "../brokers/broker.ts";
import type { EventMessage } from "../brokers/message.ts";
import { withDeadline } from "../core/contract/deadline.ts";
import type { Timer } from "../core/contract/environment.ts";
import { IchidoError } from "../core/contract/errors.ts";
import { warnUser } from "../core/contract/runtime.ts";
import { settleMessage, type Attempts } from "./attempts.ts";
import type { InboxDeadReason } from "./dead-letters.ts";
import {
  checkHandlers,
  isFor,
  requireHandlers,
  unhandledWarning,
  type ConsumerHandler,
  type Unhandled,
} from "./handlers.ts";
import { partsOf, type Inbox } from "./inbox.ts";
import { createParking } from "./parking.ts";

interface About {
  readonly handler: string;
  readonly topic: string;
  readonly id: string;
}

export type ConsumerEvent =
  | (About & { readonly type: "processed"; readonly attempts: number; readonly tookMs: number })
  | (About & { readonly type: "duplicate" })
  | (About & { readonly type: "failed"; readonly attempt: number; readonly error: unknown })
  | (About & { readonly type: "busy"; readonly reason?: "outcome-unknown" })
  /** It, and what comes after it of its key, waits in the inbox. `attempts` 0: it has not run, and is behind another one. */
  | (About & { readonly type: "parked"; readonly attempts: number })
  /** An alarm: a person must look. */
  | (About & { readonly type: "dead"; readonly reason: InboxDeadReason; readonly error: unknown })
  /** The database cannot be used; costs no attempts. */
  | (Partial<About> & { readonly type: "unavailable"; readonly error: unknown })
  /** An alarm: deploy a handler for the topic, or say `unhandled: "ignore"`. */
  | { readonly type: "unhandled"; readonly topic: string; readonly id: string; readonly action: Unhandled }
  | { readonly type: "unreadable"; readonly error: unknown }
  /** An alarm, once for each handler: its letters are to be replayed, and no consumer that has it seems to run. */
  | { readonly type: "replay-waits"; readonly handler: string; readonly waitingMs: number }
  /** The broker: a lost connection, or an answer that it did not take. */
  | { readonly type: "disturbed"; readonly error: unknown };

export interface ConsumerOptions<Tx> {
  readonly subscription: Subscription;
  readonly inbox: Inbox<Tx>;
  readonly handlers: readonly ConsumerHandler<Tx>[];
  /** How often a handler may fail before the message is its dead letter. Default 10. */
  readonly attemptsMax?: number;
  /** The first pause after a failure is up to this long, later ones up to twice the one before. Default 100. */
  readonly backoffMs?: number;
  /** Default 30 000. */
  readonly backoffMsMax?: number;
  /** How many processes a message may take down before it is a dead letter that no consumer runs. Default 3. */
  readonly crashesMax?: number;
  /**
   * How long a failing message may hold up the other keys of its partition; then its key is parked: it and what comes after
   * it wait in the inbox, in order, and the rest goes on. Default 1000.
   */
  readonly parkAfterMs?: number;
  /** How long a message is kept while its database is down or another process has it; then it is handed back. Default 60 000. */
  readonly inPlaceMs?: number;
  /**
   * What to do with a topic that no handler wants, always with an alarm. Default `keep`: a dead letter, acknowledged. `retry`:
   * handed back for `unhandledMs`, and in an ordered subscription all that stands behind it waits. `ignore`: acknowledged.
   */
  readonly unhandled?: Unhandled;
  /** For `retry`. Default 60 000. */
  readonly unhandledMs?: number;
  /** How often it looks for dead letters that are to be replayed. Default 5000. */
  readonly replayMs?: number;
  readonly onEvent?: (event: ConsumerEvent) => void;
  /** One line for every attempt: a pino logger, or whatever has its four methods. */
  readonly logger?: Logger;
  /** A span for every attempt: `fromOpenTelemetry(api)` in `ichido/traces`. */
  readonly tracing?: Tracing;
}

export interface ConsumerHealth {
  readonly state: "new" | "running" | "stopping" | "stopped";
  /** Deliveries in hand. */
  readonly inFlight: number;
  /** A person paused the inbox. */
  readonly paused: boolean;
  /** Since the last outcome, the database failed. */
  readonly unavailable: boolean;
  /** Topics that came without a handler, by now. */
  readonly unhandled: readonly string[];
}

export interface Consumer {
  /** Refuses where tables are missing or the inbox forgets sooner than the subscription delivers again. May then be tried again. */
  start(): Promise<void>;
  /**
   * Takes no more and lets running handlers finish, also of replayed letters, for `drainMs` (15 000); those that wait for a
   * next attempt are handed back at once.
   */
  stop(options?: { readonly drainMs?: number }): Promise<void>;
  health(): ConsumerHealth;
  /** One look for dead letters to replay, for tests and cron; also runs by itself. */
  replay(): Promise<number>;
  /** Adds a listener; returns its removal. */
  on(listener: (event: ConsumerEvent) => void): () => void;
}

export const consumerDefaults = {
  attemptsMax: 10,
  backoffMs: 100,
  backoffMsMax: 30_000,
  crashesMax: 3,
  parkAfterMs: 1_000,
  inPlaceMs: 60_000,
  unhandledMs: 60_000,
  replayMs: 5_000,
  drainMs: 15_000,
} as const;

const replayBatchMax = 100;
const unhandledNotedMax = 100;
const handBackMs = 1_000;
/** How often a delivery in hand looks whether it may run; whether it may is asked every `replayMs`. */
const pausedLookMs = 100;
/** A consumer that has the handler would have looked many times by then. */
const replayWaitsMs = 60_000;

const optionTable = {
  subscription: given<Subscription>(),
  inbox: given<unknown>(),
  handlers: given<unknown>(),
  attemptsMax: positive(consumerDefaults.attemptsMax),
  backoffMs: positive(consumerDefaults.backoffMs),
  backoffMsMax: positive(consumerDefaults.backoffMsMax),
  crashesMax: positive(consumerDefaults.crashesMax),
  parkAfterMs: positive(consumerDefaults.parkAfterMs),
  inPlaceMs: positive(consumerDefaults.inPlaceMs),
  unhandled: oneOf(["keep", "retry", "ignore"], "keep"),
  unhandledMs: positive(consumerDefaults.unhandledMs),
  replayMs: positive(consumerDefaults.replayMs),
  onEvent: given<unknown>(),
  logger: optional(loggerOption),
  tracing: given<Tracing | undefined>(),
};

const levels: Readonly<Record<ConsumerEvent["type"], LogLevel>> = {
  processed: "info",
  duplicate: "info",
  failed: "warn",
  busy: "debug",
  parked: "warn",
  dead: "error",
  unavailable: "error",
  unhandled: "error",
  unreadable: "error",
  "replay-waits": "error",
  disturbed: "warn",
};
const levelOf = ({ type }: ConsumerEvent): LogLevel => levels[type];

export function createConsumer<Tx>(options: ConsumerOptions<Tx>): Consumer {
  const settings = readOptions("createConsumer", options, optionTable);
  const { subscription, inbox, handlers } = options;
  const parts = partsOf(inbox as Inbox<never>);
  const { environment } = parts;
  checkHandlers(handlers, parts.leased);
  const { logger, tracing } = settings;
  const logs = logger === undefined ? undefined : logsTo(logger, "consumer", levelOf);
  const listeners = createListeners<ConsumerEvent>("consumer", [options.onEvent, logs]);
  const stopping = new AbortController();
  const unhandled = new Set<string>();
  /** Handlers whose replays no consumer runs, and that were reported. */
  const waited = new Set<string>();
  let state: ConsumerHealth["state"] = "new";
  let inFlight = 0;
  let unavailable = false;
  let isPaused = false;
  let timer: Timer | undefined;
  let hearing: Timer | undefined;
  let looking: Promise<number> | undefined;
  /** How many decisions to replay this process knows of, and how many of them came before the last look began. */
  let decisions = 0;
  let lookedFor = 0;
  let forget = (): void => {};

  function emit(event: ConsumerEvent): void {
    if (event.type === "unavailable") unavailable = true;
    else if (event.type === "processed" || event.type === "duplicate" || event.type === "dead") unavailable = false;
    listeners.emit(event);
  }

  function pause(delayMs: number): Promise<boolean> {
    const { signal } = stopping;
    if (signal.aborted) return Promise.resolve(false);
    return new Promise((done) => {
      const end = (): void => {
        wait.cancel();
        signal.removeEventListener("abort", end);
        done(!signal.aborted);
      };
      const wait = environment.after(delayMs, end, { hold: true });
      signal.addEventListener("abort", end);
    });
  }

  const attempts: Attempts = {
    settings,
    inbox: inbox as Inbox<never>,
    parts,
    tracing,
    emit,
    pause,
    isPaused: () => isPaused,
    nowMs: () => environment.monotonicMs(),
  };

  const parking = createParking(attempts, handlers, {
    environment,
    lookMs: settings.replayMs,
    signal: stopping.signal,
  });

  async function answer(tell: () => Promise<void>): Promise<void> {
    // Unanswered, it is delivered again and then is a duplicate.
    await tell().catch((error: unknown) => emit({ type: "disturbed", error }));
  }

  /** While handlers run or wait, the consumer says so to the broker, so often that two lost messages do not matter. */
  function keepWorking(delivery: Delivery): () => void {
    if (subscription.ackWaitMs === undefined) return () => {};
    const everyMs = Math.max(1, subscription.ackWaitMs / 3);
    const next = (): Timer => environment.after(everyMs, tell, { hold: true });
    let beat = next();
    function tell(): void {
      beat = next();
      void answer(() => delivery.working());
    }
    return () => beat.cancel();
  }

  async function take(delivery: Delivery): Promise<void> {
    inFlight += 1;
    const end = keepWorking(delivery);
    try {
      if (!(await resumed())) return await answer(() => delivery.retry(stopping.signal.aborted ? 0 : handBackMs));
      const { message } = delivery;
      const wanted = handlers.filter((handler) => isFor(handler, message.topic));
      if (wanted.length === 0) return await takeUnhandled(delivery);
      let open = false;
      for (const handler of wanted) {
        const settled = await settleMessage(attempts, message, handler, { redelivered: delivery.deliveries > 1 });
        open ||= settled === "handed-back";
        if (settled === "parked") parking.wake(settings.backoffMs);
      }
      await answer(() => (open ? delivery.retry(stopping.signal.aborted ? 0 : handBackMs) : delivery.ack()));
    } finally {
      end();
      inFlight -= 1;
    }
  }

  /** False: it is paused for longer than a message may be kept, or this consumer stops. */
  async function resumed(): Promise<boolean> {
    const untilMs = environment.monotonicMs() + settings.inPlaceMs;
    while (isPaused) {
      if (environment.monotonicMs() >= untilMs || !(await pause(Math.min(pausedLookMs, settings.inPlaceMs))))
        return false;
    }
    return true;
  }

  async function takeUnhandled(delivery: Delivery): Promise<void> {
    const { topic, id } = delivery.message;
    const action = settings.unhandled;
    if (unhandled.size < unhandledNotedMax && !unhandled.has(topic)) {
      unhandled.add(topic);
      if (options.onEvent === undefined && logger === undefined)
        warnUser(unhandledWarning(topic, action), "topic-unhandled");
    }
    emit({ type: "unhandled", topic, id, action });
    if (action === "keep") return keep(delivery, () => parts.letters.putUnhandled(delivery.message));
    await answer(() => (action === "ignore" ? delivery.ack() : delivery.retry(settings.unhandledMs)));
  }

  async function takeUnreadable(delivery: UnreadableDelivery): Promise<void> {
    emit({ type: "unreadable", error: delivery.error });
    await keep(delivery, () => parts.letters.putUnreadable(delivery.raw, delivery.headers, delivery.error));
  }

  /** Acknowledged once its letter is written. */
  async function keep(delivery: Pick<Delivery, "ack" | "retry">, put: () => Promise<unknown>): Promise<void> {
    try {
      await put();
    } catch (error) {
      emit({ type: "unavailable", error });
      await answer(() => delivery.retry(handBackMs));
      return;
    }
    await answer(() => delivery.ack());
  }

  async function lookForPause(): Promise<void> {
    isPaused = (await inbox.paused()) !== undefined;
  }

  /** A look may take as long as its letters do. Whoever pauses meanwhile is heard all the same. */
  function hearPauses(): void {
    hearing = environment.after(settings.replayMs, () => {
      lookForPause()
        .catch((error: unknown) => emit({ type: "unavailable", error }))
        .finally(() => {
          if (looking !== undefined) hearPauses();
        });
    });
  }

  /** One attempt each: the person that asked for the replay sees at once what became of it. */
  async function look(): Promise<number> {
    await lookForPause();
    if (isPaused) return 0;
    let done = 0;
    const once: Attempts = { ...attempts, settings: { ...settings, attemptsMax: 1, inPlaceMs: 1 } };
    for (const handler of handlers) {
      for (const { message } of await parts.letters.replaying(handler.name, replayBatchMax)) {
        if (stopping.signal.aborted || isPaused) return done;
        const settled = await settleMessage(once, message, handler, { redelivered: true, decided: true });
        if (settled === "processed" || settled === "duplicate") await finish(message, handler);
        if (settled !== "handed-back") done += 1;
      }
    }
    await tellWaiting();
    return done;
  }

  async function tellWaiting(): Promise<void> {
    for (const { handler, waitingMs } of await parts.letters.waiting()) {
      if (waitingMs < replayWaitsMs || waited.has(handler) || handlers.some(({ name }) => name === handler)) continue;
      if (waited.size < unhandledNotedMax) waited.add(handler);
      emit({ type: "replay-waits", handler, waitingMs });
    }
  }

  /** Processed, and then not removed: the next look finds a duplicate. */
  async function finish(message: EventMessage, handler: ConsumerHandler<Tx>): Promise<void> {
    // Its record may be forgotten at once, and another process may have the letter in its hands.
    if (handler.run !== undefined) await parts.noteProcessed(message, handler.name);
    await parts.letters.remove(message, handler.name);
  }

  function replay(): Promise<number> {
    if (looking === undefined) {
      lookedFor = decisions;
      looking = look().finally(() => {
        looking = undefined;
        hearing?.cancel();
      });
      hearPauses();
    }
    return looking;
  }

  function lookAgain(delayMs: number): void {
    timer?.cancel();
    timer = environment.after(delayMs, () => {
      replay()
        .catch((error: unknown) => emit({ type: "unavailable", error }))
        .finally(() => {
          // A decision that came while the look was under way may have come too late for it.
          if (state === "running") lookAgain(lookedFor < decisions ? 0 : settings.replayMs);
        });
    });
  }

  async function subscribe(): Promise<void> {
    try {
      await subscription.start({
        take: (delivery) => take(delivery).catch((error: unknown) => emit({ type: "disturbed", error })),
        unreadable: takeUnreadable,
        disturbed: (error) => emit({ type: "disturbed", error }),
      });
    } catch (error) {
      if (state === "running") {
        state = "new";
        rest();
      }
      throw error;
    }
  }

  /** No more looks for letters to replay, and for the parked. */
  function rest(): void {
    timer?.cancel();
    void parking.stop();
    forget();
  }

  return {
    async start() {
      if (state !== "new") throw new IchidoError("usage-invalid", `the consumer is ${state}; create another one`);
      if (settings.unhandled !== "ignore") requireHandlers(handlers, subscription.topics);
      await inbox.check(subscription);
      await lookForPause();
      state = "running";
      forget = parts.letters.onReplay(() => {
        decisions += 1;
        if (state === "running") lookAgain(0);
      });
      lookAgain(settings.replayMs);
      parking.start();
      await subscribe();
    },
    async stop({ drainMs = consumerDefaults.drainMs } = {}) {
      if (state === "stopped" || state === "new") {
        state = "stopped";
        return;
      }
      state = "stopping";
      stopping.abort();
      rest();
      const look = Promise.all([looking, parking.stop()]);
      // Left to itself after that: its letter is removed, or found again by the next look of whatever process.
      const looked = withDeadline(environment, drainMs, () => look).catch(() => undefined);
      await subscription.stop({ drainMs });
      await looked;
      state = "stopped";
    },
    health: () => ({ state, inFlight, paused: isPaused, unavailable, unhandled: [...unhandled] }),
    replay,
    on: (listener) => listeners.on(listener),
  };
}
