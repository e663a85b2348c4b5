/** What is told of, who wants it, and by which rule it travels. */
import type { OutboxOptions, RelayOptions } from "../../packages/ichido/src/outbox/index.ts";
import { leaseMs } from "../settings.ts";

/** `rows`: a row beside the message. `bank`, `hold`: a charge at a bank that honours references, and at one that does not. */
export const handlerNames = ["rows", "bank", "hold"] as const;
export type HandlerName = (typeof handlerNames)[number];

export const wishes: Readonly<Record<HandlerName, readonly string[]>> = {
  rows: ["*"],
  bank: ["order.paid"],
  hold: ["order.held"],
};

/** Each takes effect once for each of these. */
export const handlersOf = (topic: string): readonly HandlerName[] =>
  handlerNames.filter((name) => wishes[name].some((wish) => wish === "*" || wish === topic));

/** By the pattern of its rule; undefined: in no order. */
export function orderOf(topic: string): string | undefined {
  const [first] = topic.split(".");
  return first === "order" || first === "strict" ? first : undefined;
}

/** The content of an event. The number names it in the ledgers of the banks. */
export interface News {
  readonly number: number;
}

/** A publisher refuses it now and then, and a handler fails with it more often than not, until the faults are over. */
export const isRefused = ({ number }: News): boolean => number % 25 === 0;
export const isSour = ({ number }: News): boolean => number % 20 === 1;

export const outboxOptions = {
  source: "/chaos",
  topics: {
    "order.*": { to: "broker", attemptsMax: 2 },
    "strict.*": { to: "broker", attemptsMax: 2 },
    "mail.*": { to: "broker", order: "none" },
    "echo.*": { to: "broker", order: "none" },
  },
} as const satisfies Omit<OutboxOptions<unknown>, "transactions">;

export const relayOptions = {
  leaseMs,
  batch: 60,
  idleMs: 20,
  idleMsMax: 200,
  pauseMs: 50,
  pauseMsMax: 500,
  backoffMs: 30,
  backoffMsMax: 500,
} as const satisfies Omit<RelayOptions, "routes">;

export const consumerOptions = {
  attemptsMax: 4,
  backoffMs: 30,
  backoffMsMax: 400,
  parkAfterMs: 150,
  inPlaceMs: 3_000,
  replayMs: 400,
} as const;

export const retentionMs = 14 * 86_400_000;
