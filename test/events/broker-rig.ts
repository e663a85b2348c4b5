/** What the suite of brokers works with: a broker under test, rigs with fresh names, events, and a taker that remembers. */
import { randomUUID } from "node:crypto";
import { expect, onTestFinished } from "vitest";
import type {
  Delivery,
  Publisher,
  Subscription,
  Taker,
  UnreadableDelivery,
} from "../../packages/ichido/src/brokers/broker.ts";
import type { EventMessage } from "../../packages/ichido/src/brokers/message.ts";
import type { Instance } from "../support/services.ts";

export interface SubscriptionWish {
  readonly order: "key" | "none";
  readonly concurrency?: number;
  /** Where the broker hands out again after a time. */
  readonly ackWaitMs?: number;
}

/** One stream, exchange or set of streams with fresh names. Every subscription of a rig is of the same consumer group. */
export interface BrokerRig {
  publisher(options?: { readonly callTimeoutMs?: number }): Promise<Publisher>;
  /** A publisher whose events no queue, stream or receiver takes. Absent where there is no such thing. */
  unroutablePublisher?(): Promise<Publisher>;
  subscription(wish: SubscriptionWish): Promise<Subscription>;
  /** A subscription on a connection of its own that can be cut off as by the death of its process. */
  mortalSubscription(wish: SubscriptionWish): Promise<{ readonly subscription: Subscription; die(): Promise<void> }>;
  /** Puts something that is no event where an ordered subscription meets it. */
  publishUnreadable(payload: Uint8Array): Promise<void>;
  /** Until what was declared would survive a kill, where a broker writes that down later than it says. */
  settle?(): Promise<void>;
  dispose(): Promise<void>;
}

export interface BrokerUnderTest {
  readonly name: string;
  /** Whether the broker itself drops a second copy of an id. */
  readonly dedups: boolean;
  readonly url: string;
  open(url: string): Promise<BrokerRig>;
  startServer(): Promise<Instance>;
}

export function eventOf(fields: Partial<EventMessage> = {}): EventMessage {
  return {
    id: randomUUID(),
    topic: "order.paid",
    source: "/suite",
    time: new Date().toISOString(),
    contentType: "application/json",
    payload: new TextEncoder().encode("{}"),
    headers: {},
    ...fields,
  };
}

export interface Collector extends Taker {
  readonly deliveries: Delivery[];
  readonly unreadables: UnreadableDelivery[];
  readonly disturbances: Error[];
  readonly ids: () => string[];
}

/** Acknowledges whatever it gets, unless told otherwise. */
export function collector(answer: (delivery: Delivery) => Promise<void> = (delivery) => delivery.ack()): Collector {
  const deliveries: Delivery[] = [];
  const unreadables: UnreadableDelivery[] = [];
  const disturbances: Error[] = [];
  return {
    deliveries,
    unreadables,
    disturbances,
    ids: () => deliveries.map(({ message }) => message.id),
    async take(delivery) {
      deliveries.push(delivery);
      await answer(delivery);
    },
    async unreadable(delivery) {
      unreadables.push(delivery);
      await delivery.ack();
    },
    disturbed: (error) => void disturbances.push(error),
  };
}

/** Publishes as the relay does: the next of a key only after the former was sent. */
export async function publishInOrder(
  publisher: Publisher,
  keys: readonly string[],
  each: number,
): Promise<EventMessage[]> {
  const perKey = await Promise.all(
    keys.map(async (key) => {
      const events: EventMessage[] = [];
      for (let index = 0; index < each; index += 1) {
        const event = eventOf({ key, payload: new TextEncoder().encode(JSON.stringify({ key, index })) });
        expect(await publisher.publish(event)).toEqual({ outcome: "sent" });
        events.push(event);
      }
      return events;
    }),
  );
  return perKey.flat();
}

/** Removed when the test is over. */
export async function openRig(broker: BrokerUnderTest, url: string = broker.url): Promise<BrokerRig> {
  const rig = await broker.open(url);
  onTestFinished(() => rig.dispose());
  return rig;
}

/** Stopped when the test is over. */
export async function started(subscription: Subscription, taker: Taker): Promise<Subscription> {
  await subscription.start(taker);
  onTestFinished(() => subscription.stop({ drainMs: 0 }));
  return subscription;
}
