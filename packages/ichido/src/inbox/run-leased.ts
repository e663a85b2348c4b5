/**
 * A handler that calls other services: its effects cannot commit with the message, so it runs under a lease of
 * `ichido`, with steps and references. The inbox's own table, which knows of dead letters, is asked under the lease:
 * what was put aside before the claim is seen, and what is put aside is put aside under the lease as well, so that no
 * attempt is at work then.
 */
import type { EventMessage } from "../brokers/message.ts";
import type { Context } from "../core/contract/context.ts";
import type { Ichido } from "../core/engine/create-ichido.ts";
import { sleep } from "../core/contract/deadline.ts";
import type { Environment } from "../core/contract/environment.ts";
import { IchidoError, isIchidoError, type IchidoErrorCode } from "../core/contract/errors.ts";
import type { OnUnknown } from "../core/contract/options.ts";
import { unavailable } from "../sql/failures.ts";
import { keyOfId } from "./identity.ts";
import { resultOf, type findOutcome, type InboxKey, type InboxResult } from "./run-once.ts";

export interface LeasedContext {
  readonly message: EventMessage;
  readonly attempt: number;
}

export type LeasedHandler = (context: Context, delivery: LeasedContext) => unknown;

export interface LeasedOptions {
  /** Default: the engine's. */
  readonly onUnknown?: OnUnknown;
  readonly leaseMs?: number;
}

/** Whose lease it is, and how it is asked for. */
export interface LeasedMessage {
  readonly key: InboxKey;
  readonly message: EventMessage;
  readonly options: LeasedOptions & { readonly retentionMs: number };
}

const outcomes: Partial<Record<IchidoErrorCode, InboxResult>> = {
  "idempotency-key-reused": { outcome: "conflict" },
  "idempotency-in-flight": { outcome: "busy" },
  "outcome-unknown": { outcome: "busy", reason: "outcome-unknown" },
  "response-not-stored": { outcome: "duplicate" },
};

/** Keys of consumers, apart from those of any caller. */
const scope = { principal: "ichido inbox" };

class NothingRan extends Error {}

/** `work` says undefined when it is done, or what to answer instead when it had no effect: the lease is given back then. */
async function underLease(
  ichido: Pick<Ichido, "run"> | undefined,
  { key, message, options }: LeasedMessage,
  work: (context: Context) => Promise<InboxResult | undefined>,
): Promise<InboxResult> {
  if (ichido === undefined) {
    throw new IchidoError(
      "usage-invalid",
      "inbox.run needs leases and steps: pass `ichido: createIchido({ store, … })` to createInbox",
    );
  }
  let thrown: { readonly error: unknown } | undefined;
  let instead: InboxResult | undefined;
  try {
    const { replayed } = await ichido.run(
      {
        operation: `inbox.${key.handler}`,
        scope,
        key: keyOfId(message.id),
        input: Buffer.from(key.print).toString("hex"),
        ...options,
      },
      async (context) => {
        try {
          instead = await work(context);
        } catch (error) {
          thrown = { error };
          throw error;
        }
        if (instead === undefined) return null;
        context.release();
        throw new NothingRan();
      },
    );
    return { outcome: replayed ? "duplicate" : "processed" };
  } catch (error) {
    if (instead !== undefined) return instead;
    // A handler may use ichido itself: what it threw is never taken for an error of its own lease.
    if (thrown !== undefined && thrown.error === error) throw error;
    const known = isIchidoError(error) ? outcomes[error.code] : undefined;
    if (known !== undefined) return known;
    if (isIchidoError(error) && error.retryable) throw unavailable("the store of ichido cannot be used now", error);
    throw error;
  }
}

/** The handler has run, now or before, and only its record says so. */
export class NotNoted extends IchidoError {
  constructor(cause: unknown) {
    super("store-unavailable", "the message was processed, and the inbox could not note it: deliver it again", {
      cause,
    });
  }
}

export interface LeasedWork {
  readonly fn: LeasedHandler;
  readonly delivery: LeasedContext;
  /** What the inbox's own table knows of the message. */
  readonly look: () => ReturnType<typeof findOutcome>;
  /** What to answer instead of running what is not known. */
  readonly refusal: InboxResult | undefined;
  /** Notes in the inbox's own table that it has run, where the record may be forgotten too soon: it counts from first sight. */
  readonly note: () => Promise<unknown>;
}

export async function runLeased(
  ichido: Pick<Ichido, "run"> | undefined,
  leased: LeasedMessage,
  { fn, delivery, look, refusal, note }: LeasedWork,
): Promise<InboxResult> {
  let isKnown = false;
  const result = await underLease(ichido, leased, async (context) => {
    const found = await look().catch((error: unknown) => {
      context.release();
      throw error;
    });
    isKnown = found !== undefined;
    if (found !== undefined) return resultOf(found);
    if (refusal !== undefined) return refusal;
    await fn(context, delivery);
    // The handler has run, whether that can be noted or not: the record must still say so.
    isKnown = await note().then(
      () => true,
      () => false,
    );
    return undefined;
  });
  // The message is not acknowledged before that note: its record is forgotten one day, and a copy that comes then finds
  // the note.
  if (!isKnown && (result.outcome === "processed" || result.outcome === "duplicate")) {
    await note().catch((error: unknown) => {
      throw new NotNoted(error);
    });
  }
  if (result.outcome !== "busy") return result;
  const found = await look();
  return found === undefined ? result : resultOf(found);
}

export interface LeasedLetter {
  readonly put: () => Promise<"dead" | "processed">;
  /** It may have been put before. */
  readonly isSent: boolean;
  /** Notes that the message was processed: then there is no letter of it. */
  readonly takeBack: () => Promise<unknown>;
  /** Says so where the message may have been processed and forgotten. */
  readonly doubt: () => Promise<unknown>;
  readonly environment: Environment;
}

/** No attempt ran it, and none that looks for letters will. */
const isAside: InboxResult = { outcome: "duplicate", dead: true };

/**
 * Puts a message aside while no attempt runs it. `busy`: an attempt does. The letter and the lease are in two places: a
 * process that stood still until its lease was over may write the letter of a message that another process handles. So
 * this process asks for the lease once more where it cannot be sure of it afterwards, and a process that handles a
 * message removes a letter that it finds. The letter of a message that is older than a record may be says so: the
 * record may be forgotten. Only where the writer of a letter dies in that moment, or cannot reach the lease any more,
 * such a letter stays as it is.
 */
export async function putAsideLeased(
  ichido: Pick<Ichido, "run"> | undefined,
  leased: LeasedMessage,
  { put, isSent, takeBack, doubt, environment }: LeasedLetter,
): Promise<"dead" | "processed" | "busy"> {
  let done: "dead" | "processed" | undefined;
  let isSure = false;
  let result = await underLease(ichido, leased, async (context) => {
    done = await put().catch((error: unknown) => {
      context.release();
      throw error;
    });
    // A process that stood still may get the answer about its letter first, and learn of the end of its lease by an
    // overdue timer after it.
    await sleep(environment, 0);
    isSure = !context.signal.aborted;
    return isAside;
  });
  if (done === "processed" || (done === "dead" && isSure && !isSent)) return done;
  if (done === "dead" && !isSure) result = await underLease(ichido, leased, () => Promise.resolve(isAside));
  const { outcome, reason } = result;
  if (outcome === "duplicate" && result !== isAside) {
    if (isSent || done === "dead") await takeBack();
    return "processed";
  }
  if (outcome === "busy" && reason === undefined) return "busy";
  // No attempt runs what is unknown; and a record of other content says nothing about this message.
  if (done === undefined) return put();
  await doubt();
  return done;
}
