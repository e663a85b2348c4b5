/** The handlers of a consumer, by the topics they want. */
import { isWanted, topicPattern } from "../brokers/topic-pattern.ts";
import { knownOptions } from "../core/contract/option-checks.ts";
import { present } from "../core/contract/present.ts";
import { IchidoError } from "../core/contract/errors.ts";
import { checkHandlerName } from "./identity.ts";
import type { LeasedHandler, LeasedOptions } from "./run-leased.ts";
import type { OnceHandler } from "./run-once.ts";

interface NamedHandler {
  /** Part of what a message is remembered by: a new name gets every message anew. */
  readonly name: string;
  /** `order.paid`, everything below with `order.*`, everything with `*`. */
  readonly topics: readonly string[];
}

export type ConsumerHandler<Tx> =
  | (NamedHandler & {
      /** Effects in the inbox's own database. */
      readonly once: OnceHandler<Tx>;
      readonly run?: never;
    })
  | (NamedHandler &
      LeasedOptions & {
        /** Effects elsewhere: under a lease, with steps and references. */
        readonly run: LeasedHandler;
        readonly once?: never;
      });

/** What is done with a topic that no handler wants. */
export type Unhandled = "keep" | "retry" | "ignore";

function invalid(message: string): IchidoError {
  return new IchidoError("option-invalid", `option ${message}`);
}

const handlerNames = { name: true, topics: true, once: true, run: true, onUnknown: true, leaseMs: true } as const;

export function checkHandlers<Tx>(handlers: readonly ConsumerHandler<Tx>[], leased: boolean): void {
  if (!Array.isArray(handlers) || handlers.length === 0) throw invalid("handlers: expected at least one");
  const names = new Set<string>();
  for (const [index, handler] of handlers.entries()) {
    const place = `handlers[${index}]`;
    knownOptions(place, handler, handlerNames);
    const name = checkHandlerName(handler.name);
    if (names.has(name)) throw invalid(`${place}.name: ${name} is there twice; each handler needs a name of its own`);
    names.add(name);
    if (!Array.isArray(handler.topics) || handler.topics.length === 0)
      throw invalid(`${place}.topics: expected at least one, such as "order.paid" or "order.*"`);
    for (const topic of handler.topics) topicPattern(`${place}.topics`, topic);
    const kinds = [handler.once, handler.run].filter((fn) => typeof fn === "function").length;
    if (kinds !== 1) throw invalid(`${place}: expected a function as once or as run, and not both`);
    if (handler.run !== undefined && !leased)
      throw invalid(`${place}.run needs leases and steps: pass \`ichido\` to createInbox`);
  }
}

/** What of a handler its lease is asked for with. */
export function leasedOptions({ onUnknown, leaseMs }: LeasedOptions): LeasedOptions {
  return present({ onUnknown, leaseMs });
}

export function isFor(handler: NamedHandler, topic: string): boolean {
  return isWanted(topic, handler.topics);
}

/** For programs that do not listen to the consumer's events. */
export function unhandledWarning(topic: string, action: Unhandled): string {
  const does = {
    keep: "its messages are kept as dead letters of (unhandled)",
    retry: "its messages are handed back, and what stands behind them waits",
    ignore: "its messages are passed by",
  }[action];
  return `no handler of this consumer wants the topic ${topic}: ${does}; add a handler, or narrow the subscription's topics`;
}

/**
 * Some handler must want each topic that a subscription asks for by name. Which topics will come by a pattern is not
 * known.
 */
export function requireHandlers<Tx>(
  handlers: readonly ConsumerHandler<Tx>[],
  topics: readonly string[] | undefined,
): void {
  const missing = (topics ?? []).find(
    (topic) => !topic.endsWith("*") && !handlers.some((handler) => isFor(handler, topic)),
  );
  if (missing === undefined) return;
  throw invalid(
    `handlers: no handler wants the topic ${missing}, which the subscription asks for; add one, or say unhandled: "ignore"`,
  );
}
