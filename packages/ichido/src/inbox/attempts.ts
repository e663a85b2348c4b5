/**
 * One message for one handler until it has an outcome. A failing handler is tried again in place for a moment, then its key
 * is parked, so that the order of the key holds and other keys go on; faults of the database cost no attempts; everything
 * ends by dead letter, by hand-back or by success.
 */
import { doubledMs, upTo } from "../core/contract/jitter.ts";
import type { EventMessage } from "../brokers/message.ts";
import type { Tracing } from "../core/contract/tracing.ts";
import { isIchidoError } from "../core/contract/errors.ts";
import type { ConsumerEvent } from "./consumer.ts";
import type { InboxDeadReason } from "./dead-letters.ts";
import { leasedOptions, type ConsumerHandler } from "./handlers.ts";
import type { Inbox, InboxParts, RunOptions } from "./inbox.ts";
import type { ParkedMessage, ParkedNews } from "./parked.ts";
import type { InboxResult, OnceHandler } from "./run-once.ts";
import { NotNoted, type LeasedHandler } from "./run-leased.ts";
import type { Start } from "./starts.ts";

export interface AttemptSettings {
  readonly attemptsMax: number;
  readonly backoffMs: number;
  readonly backoffMsMax: number;
  readonly crashesMax: number;
  /** How long a failing message may hold up others of its partition. */
  readonly parkAfterMs: number;
  /** How long a message may be kept for something that is not its own fault. */
  readonly inPlaceMs: number;
}

export interface Attempts {
  readonly settings: AttemptSettings;
  readonly inbox: Pick<Inbox<never>, "runOnce" | "run">;
  readonly parts: InboxParts;
  readonly tracing: Tracing | undefined;
  readonly emit: (event: ConsumerEvent) => void;
  /** Resolves earlier, with false, when the consumer stops. */
  readonly pause: (delayMs: number) => Promise<boolean>;
  /** A person paused the inbox. */
  readonly isPaused: () => boolean;
  readonly nowMs: () => number;
}

/** `parked`: it waits beside the broker. `handed-back`: no outcome yet, and not for want of attempts. */
export type Settled = "processed" | "duplicate" | "dead" | "parked" | "handed-back";

export interface Delivered {
  readonly redelivered: boolean;
  /** A person has decided that it is to run. */
  readonly decided?: boolean;
  /** It is the first of its line. */
  readonly parked?: ParkedMessage;
}

/** The database, or the engine behind `inbox.run`, could not be used: says nothing about the message. */
function isTransport(error: unknown): boolean {
  return isIchidoError(error) && (error.code === "store-unavailable" || error.code === "schema-missing");
}

const conflict = {
  reason: "conflict",
  error: "the id was processed before with another source, topic, content type or payload: an id belongs to one event",
} as const;

const tooOld = {
  reason: "too-old",
  error: "its time is further back than the inbox remembers: whether it was processed before cannot be told",
} as const;

const startedBefore = {
  reason: "too-old",
  error:
    "a replay of it was started and did not end, and it is older than the inbox remembers: look whether it has taken effect",
} as const;

const staysUnknown = {
  reason: "unknown",
  error: "an earlier attempt vanished and its outcome is not known; settle it first",
} as const;

/** How long to wait for starts that are about to be taken back, before what is left counts as deaths. */
const lateEndMs = 1_500;

/**
 * A delivery that waits for the outcome of another one asks at least this often: long before that outcome is forgotten.
 */
const busyMsMax = 1_000;

/** Full jitter: anything up to the doubled bound, so that many consumers do not come back together. */
function backoff({ settings, parts }: Attempts, failures: number): number {
  return upTo(parts.environment, doubledMs(settings.backoffMs, failures, settings.backoffMsMax));
}

function attempt<Tx>(
  { inbox }: Attempts,
  message: EventMessage,
  handler: ConsumerHandler<Tx>,
  options: RunOptions,
): Promise<InboxResult> {
  if (handler.once !== undefined) return inbox.runOnce(message, handler.name, handler.once as never, options);
  return inbox.run(message, handler.name, handler.run, { ...options, ...leasedOptions(handler) });
}

/** Its start went with a letter, before it had the lease. */
class StartGone extends Error {}

/**
 * Under a lease, and only where its start is still there: without one nothing would tell of its run once the record is
 * forgotten. While it has the lease nobody puts a letter.
 */
async function attemptNoted<Tx>(
  attempts: Attempts,
  message: EventMessage,
  { handler, start }: { readonly handler: ConsumerHandler<Tx>; readonly start: Start | undefined },
  options: RunOptions,
): Promise<InboxResult> {
  const { run } = handler;
  if (run === undefined || start === undefined) return attempt(attempts, message, handler, options);
  const guarded: LeasedHandler = async (context, delivery) => {
    const isThere = await attempts.parts.starts.has(start).catch((error: unknown) => {
      context.release();
      throw error;
    });
    if (isThere) return run(context, delivery);
    context.release();
    throw new StartGone();
  };
  try {
    return await attempt(attempts, message, { ...handler, run: guarded }, options);
  } catch (error) {
    if (error instanceof StartGone) return { outcome: "busy" };
    throw error;
  }
}

/** An attempt as a span, beneath the one that added the event. */
async function traced<Result extends { readonly outcome: string }>(
  { tracing }: Attempts,
  { topic, traceparent }: EventMessage,
  handler: string,
  run: () => Promise<Result>,
): Promise<Result> {
  const attributes = { "messaging.destination.name": topic, "inbox.handler": handler };
  const span = tracing?.begin("inbox.process", { attributes, kind: "consumer", parent: traceparent });
  try {
    const result = await (span === undefined ? run() : span.within(run));
    span?.end({ "inbox.outcome": result.outcome });
    return result;
  } catch (error) {
    span?.end({}, { error });
    throw error;
  }
}

export async function settleMessage<Tx>(
  attempts: Attempts,
  message: EventMessage,
  handler: ConsumerHandler<Tx>,
  { redelivered, decided = false, parked }: Delivered,
): Promise<Settled> {
  const { settings, parts, emit } = attempts;
  const { name } = handler;
  const about = { handler: name, topic: message.topic, id: message.id };
  let failed = parked?.attempts ?? 0;
  let firstFailedMs: number | undefined;
  let waits = 0;
  let waitingSinceMs = parked === undefined ? undefined : attempts.nowMs() - parked.waitsMs;
  /** Nothing of its key waits before it. Without a key there is no order to keep. */
  let isFirst = decided || parked !== undefined || message.key === undefined;
  let parking: ParkedNews | undefined;
  /** Only redeliveries are noted: the first one costs nothing. */
  let start: Start | undefined;
  let mayRun = !redelivered;
  let running = false;
  let startedMs = 0;
  /** It has run, and the inbox does not know: the start stays, as a trace of it. */
  let isUnnoted = false;
  /** What is to be written, once it is decided: a database that fails meanwhile must not run the handler again. */
  let verdict: { readonly reason: InboxDeadReason; readonly error: unknown } | undefined;
  let isSent = false;
  let lastError: unknown;
  /** Why it was last found busy: no attempt is at work, and what became of it is not known. */
  let isUnknown = false;

  async function step(): Promise<Settled | "busy"> {
    if (isUnnoted) return noteRun();
    if (verdict !== undefined) return deadLetter(verdict);
    if (parking !== undefined) return park(parking);
    const asOne = lookAndRun();
    if (!isFirst && asOne === undefined) {
      const refusal = await behind();
      if (refusal !== undefined) return refusal;
    }
    if (!mayRun) {
      const refusal = await begin();
      if (refusal !== undefined) return refusal;
      mayRun = true;
    }
    running = true;
    startedMs = attempts.nowMs();
    const result = await traced(attempts, message, name, () =>
      asOne === undefined
        ? attemptNoted(attempts, message, { handler, start }, { attempt: failed + 1, evenIfOld: decided })
        : asOne(),
    );
    running = false;
    if (result.outcome === "behind") return (await behind()) ?? step();
    const { outcome, reason } = result;
    if (outcome === "duplicate") return known(result);
    if (outcome === "conflict") return deadLetter(reason === "too-old" ? tooOld : conflict);
    if (outcome !== "busy") return outcome;
    isUnknown = reason === "outcome-unknown";
    emit({ type: "busy", ...about, ...(reason === "outcome-unknown" ? { reason } : {}) });
    // Nothing ran: a copy that only waits must not look like one that died.
    await end();
    return "busy";
  }

  /** Nothing where no message of its key waits. */
  async function behind(): Promise<Settled | "busy" | undefined> {
    const before = await parts.parked.before(message, name);
    if (before === "full") return "busy";
    if (before === "some") return park({ attempts: 0, delayMs: 0 });
    isFirst = true;
    return undefined;
  }

  /** The look at its line and the attempt as one, where that is possible. */
  function lookAndRun(): (() => Promise<InboxResult | { readonly outcome: "behind" }>) | undefined {
    const { once } = handler;
    const { runInLine } = parts;
    if (isFirst || redelivered || once === undefined || runInLine === undefined || parts.isTooOld(message))
      return undefined;
    const run: OnceHandler<never> = (tx, context) => {
      isFirst = true;
      return once(tx, context);
    };
    return () => runInLine(message, name, run, failed + 1);
  }

  async function park(news: ParkedNews): Promise<Settled> {
    if (parked !== undefined) await parts.parked.defer(parked, news);
    else {
      await parts.parked.add(message, name, news);
      emit({ type: "parked", ...about, attempts: news.attempts });
    }
    return "parked";
  }

  /**
   * A letter that is run again may have failed in another process meanwhile, and is a letter anew: nothing of it was
   * processed, and a consumer that removes it loses it.
   */
  async function known({ dead }: InboxResult): Promise<Settled> {
    if (!decided) return "duplicate";
    // For a handler in one transaction the row says all there is to know, but an attempt that only met the row has not
    // read it.
    const isDead = handler.once === undefined ? dead : (await parts.lookUp(message, name))?.dead !== false;
    return isDead === true ? "dead" : "duplicate";
  }

  /** Its record may be gone: there a start without an end is the only trace of a replay that took effect. */
  function mayBeForgotten(): boolean {
    return decided && handler.run !== undefined && parts.isTooOld(message);
  }

  /** Asked anew after every wait: it may have been forgotten meanwhile. */
  function crashesMax(): number {
    return mayBeForgotten() ? 1 : settings.crashesMax;
  }

  async function begin(): Promise<Settled | "busy" | undefined> {
    await end();
    const begun = await parts.starts.begin(message, name);
    if ("outcome" in begun) return begun.outcome === "conflict" ? deadLetter(conflict) : known(begun);
    ({ start } = begun);
    if (begun.crashes < crashesMax()) return undefined;
    // An attempt that only waited, or was cut off from the database, takes its start back in a moment.
    if (!(await attempts.pause(lateEndMs))) return "handed-back";
    const crashes = await parts.starts.crashes(begun.start);
    // A letter that was put meanwhile took its start along: without one it must not run.
    if (crashes === undefined) return "busy";
    if (crashes < crashesMax()) return undefined;
    if (mayBeForgotten()) return deadLetter(startedBefore);
    // It may have been processed and forgotten: it is not known that it never ended.
    if (!decided && parts.isTooOld(message)) return deadLetter(tooOld);
    const error = `started ${crashes === 1 ? "once" : `${crashes} times`} without an end: whoever ran it died`;
    return deadLetter({ reason: "crashed", error });
  }

  /** It must not be asked for again: its record, which counts from first sight, may be forgotten by now. */
  async function noteRun(): Promise<"duplicate"> {
    await parts.noteProcessed(message, name);
    isUnnoted = false;
    return "duplicate";
  }

  async function end(): Promise<void> {
    const ended = start;
    start = undefined;
    mayRun = !redelivered;
    if (ended !== undefined && !isUnnoted) await parts.starts.end(ended);
  }

  async function deadLetter(decided: NonNullable<typeof verdict>): Promise<Settled | "busy"> {
    verdict = decided;
    const again = isSent ? { again: { start } } : {};
    isSent = true;
    const put = await parts.putAside(message, handler, { ...decided, attempts: failed, ...again });
    if (put === "processed") return "duplicate";
    if (put === "busy") {
      emit({ type: "busy", ...about });
      return "busy";
    }
    emit({ type: "dead", ...about, reason: decided.reason, error: decided.error });
    return "dead";
  }

  function isOverdue(): boolean {
    return waitingSinceMs !== undefined && attempts.nowMs() - waitingSinceMs >= settings.inPlaceMs;
  }

  /** Where the next attempt would come too late for the messages behind it, the message is parked. */
  function mustPark(pauseMs: number): boolean {
    firstFailedMs ??= attempts.nowMs();
    if (decided) return false;
    return parked !== undefined || attempts.nowMs() - firstFailedMs + pauseMs > settings.parkAfterMs;
  }

  async function guarded(): Promise<Settled | "busy" | "failed" | "waiting"> {
    try {
      return await step();
    } catch (error) {
      const isRunning = running;
      running = false;
      isUnnoted ||= error instanceof NotNoted;
      if (error instanceof NotNoted || isTransport(error) || !isRunning) {
        emit({ type: "unavailable", ...about, error });
        return "waiting";
      }
      failed += 1;
      lastError = error;
      emit({ type: "failed", ...about, attempt: failed, error });
      if (failed >= settings.attemptsMax) verdict = { reason: "failed", error };
      return "failed";
    }
  }

  try {
    for (;;) {
      const outcome = await guarded();
      if (outcome !== "failed" && outcome !== "waiting" && outcome !== "busy") {
        if (outcome === "processed") {
          emit({ type: "processed", ...about, attempts: failed + 1, tookMs: attempts.nowMs() - startedMs });
        }
        if (outcome === "duplicate") emit({ type: "duplicate", ...about });
        // Its record may be forgotten before its letter is gone: until then only the start shows that it has run.
        if (decided && handler.run !== undefined && (outcome === "processed" || outcome === "duplicate"))
          start = undefined;
        return outcome;
      }
      if (outcome === "failed") {
        waitingSinceMs = undefined;
        waits = 0;
        if (verdict !== undefined) continue;
      } else {
        waits += 1;
        if (isOverdue()) {
          if (!isUnknown || verdict !== undefined) return "handed-back";
          verdict = staysUnknown;
          continue;
        }
        // The loop over parked messages comes to it again.
        if (parked !== undefined) return "handed-back";
        waitingSinceMs ??= attempts.nowMs();
      }
      const pauseMs = backoff(attempts, outcome === "failed" ? failed : waits);
      if (outcome === "failed" && mustPark(pauseMs)) {
        parking = { attempts: failed, error: lastError, delayMs: pauseMs };
        continue;
      }
      if (!(await attempts.pause(outcome === "busy" ? Math.min(busyMsMax, pauseMs) : pauseMs))) return "handed-back";
      if (attempts.isPaused()) return "handed-back";
    }
  } finally {
    await end();
  }
}
