/**
 * A handler that calls other services: its effects cannot commit with the message, so it runs under a lease of `ichido`,
 * with steps and references. The inbox's own table is asked first, since it knows of dead letters.
 */
import type { EventMessage } from "../brokers/message.ts";
import type { Context } from "../core/context.ts";
import type { Ichido } from "../core/create-ichido.ts";
import { IchidoError, isIchidoError, type IchidoErrorCode } from "../core/errors.ts";
import type { OnUnknown } from "../core/options.ts";
import { unavailable } from "./failures.ts";
import { keyOfId } from "./identity.ts";
import type { InboxKey, InboxResult } from "./run-once.ts";

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

const outcomes: Partial<Record<IchidoErrorCode, InboxResult>> = {
  "idempotency-key-reused": { outcome: "conflict" },
  "idempotency-in-flight": { outcome: "busy" },
  "outcome-unknown": { outcome: "busy", reason: "outcome-unknown" },
  "response-not-stored": { outcome: "duplicate" },
};

/** Keys of consumers, apart from those of any caller. */
const scope = { principal: "ichido inbox" };

export async function runLeased(
  ichido: Pick<Ichido, "run"> | undefined,
  key: InboxKey,
  handler: LeasedHandler,
  delivery: LeasedContext,
  options: LeasedOptions & { readonly retentionMs: number },
): Promise<InboxResult> {
  if (ichido === undefined) {
    throw new IchidoError(
      "option-invalid",
      "inbox.run needs leases and steps: pass `ichido: createIchido({ store, … })` to createInbox",
    );
  }
  let thrown: { readonly error: unknown } | undefined;
  try {
    const { replayed } = await ichido.run(
      {
        operation: `inbox.${key.handler}`,
        scope,
        key: keyOfId(delivery.message.id),
        input: Buffer.from(key.print).toString("hex"),
        ...options,
      },
      async (context) => {
        try {
          await handler(context, delivery);
        } catch (error) {
          thrown = { error };
          throw error;
        }
        return null;
      },
    );
    return { outcome: replayed ? "duplicate" : "processed" };
  } catch (error) {
    // A handler may use ichido itself: what it threw is never taken for the word of its own lease.
    if (thrown !== undefined && thrown.error === error) throw error;
    const known = isIchidoError(error) ? outcomes[error.code] : undefined;
    if (known !== undefined) return known;
    if (isIchidoError(error) && error.retryable) throw unavailable("the store of ichido cannot be used now", error);
    throw error;
  }
}
