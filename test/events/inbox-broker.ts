/** A broker of one subscription inside the test: keeps what is not acknowledged, and notes every answer. */
import type { Delivery, Subscription, Taker, UnreadableDelivery } from "../../packages/ichido/src/brokers/broker.ts";
import type { EventMessage } from "ichido/inbox";
import { dayMs } from "./inbox-messages.ts";

export interface Answers {
  readonly acked: string[];
  readonly retried: { readonly id: string; readonly delayMs: number }[];
  working: number;
}

export interface TestBroker {
  readonly subscription: Subscription;
  readonly answers: Answers;
  /** Resolves when the delivery was answered. */
  deliver(message: EventMessage, deliveries?: number): Promise<void>;
  deliverUnreadable(raw: Uint8Array): Promise<void>;
}

export function testBroker(
  options: { readonly ackWaitMs?: number; readonly redeliveryMsMax?: number } = {},
): TestBroker {
  const answers: Answers = { acked: [], retried: [], working: 0 };
  const running = new Set<Promise<void>>();
  let taker: Taker | undefined;
  const hand = (give: (to: Taker) => Promise<void>): Promise<void> => {
    if (taker === undefined) throw new Error("the subscription is not started");
    const given = give(taker).finally(() => running.delete(given));
    running.add(given);
    return given;
  };
  const answering = (id: string): Pick<Delivery, "ack" | "retry" | "working"> => ({
    ack: async () => void answers.acked.push(id),
    retry: async (delayMs) => void answers.retried.push({ id, delayMs }),
    working: async () => void (answers.working += 1),
  });
  return {
    answers,
    subscription: {
      name: "orders",
      redeliveryMsMax: options.redeliveryMsMax ?? dayMs,
      ...(options.ackWaitMs === undefined ? {} : { ackWaitMs: options.ackWaitMs }),
      start: async (to) => {
        taker = to;
      },
      stop: async () => {
        taker = undefined;
        await Promise.all(running);
      },
    },
    deliver: (message, deliveries = 1) => hand((to) => to.take({ message, deliveries, ...answering(message.id) })),
    deliverUnreadable: (raw) => {
      const delivery: UnreadableDelivery = {
        raw,
        headers: { "ce-type": "\u0000" },
        error: new Error("no event"),
        deliveries: 1,
        ...answering("unreadable"),
      };
      return hand((to) => to.unreadable(delivery));
    },
  };
}
