/**
 * What a broker must be able to do. A publisher takes one event at a time and says what became of it; a subscription
 * hands out deliveries, and its taker acknowledges each once the effect is committed. Neither decides about retries,
 * attempts or dead letters: the relay and the consumer do.
 *
 *  B1  Responsibility.   `sent` means that the broker has taken the event over: it survives what the broker promises to
 *                        survive, and at least one queue, stream or receiver has it. Accepted but unroutable is `rejected`.
 *  B2  Whose fault.      `rejected`: this event, as it is, was refused; another one might pass. `unavailable`: the broker
 *                        or the way to it; the same event may pass later. A lost answer is `unavailable`.
 *                        `later`: the receiver is there and asks to be given this very event again after a while.
 *  B3  In time.          `publish` resolves within the publisher's own timeout and never rejects.
 *  B4  Dedup id.         The event's id travels with it; where the broker drops copies itself, its dedup id is made of id
 *                        and content, so that an event is never taken for another one that has the same id.
 *  B5  Order.            Two events of one key, the second published after the first was `sent`, are handed out in that
 *                        order by a subscription with order "key", also when a consumer dies in between: the first one is
 *                        acknowledged before the second is handed out.
 *  B6  At least once.    A delivery that was not acknowledged is handed out again, to this process or to another one.
 *  B7  Unreadable.       What cannot be read as an event is given to `unreadable`, never dropped, and does not stop others.
 */
import type { EventMessage } from "./message.ts";

export type Published =
  | { readonly outcome: "sent" }
  | { readonly outcome: "rejected"; readonly error: Error }
  /**
   * Neither the event nor the broker is at fault: the receiver works and has no use for this event yet. It waits, and
   * with it only its key.
   */
  | { readonly outcome: "later"; readonly error: Error; readonly delayMs: number }
  | {
      readonly outcome: "unavailable";
      readonly error: Error;
      /** What of the broker cannot be reached, such as one endpoint of many: events that go elsewhere may pass. Absent: all of it. */
      readonly scope?: string;
      /** Trying earlier is of no use. */
      readonly retryAfterMs?: number;
    };

export interface Publisher {
  /** For events, metrics and messages, such as `nats`. */
  readonly name: string;
  /** Any number of calls at once, within the relay's bound. */
  publish(message: EventMessage): Promise<Published>;
  /** Ends what the publisher itself opened, never the user's own connection. */
  close(): Promise<void>;
}

export interface Delivery {
  readonly message: EventMessage;
  /** How often it was handed out by now, as far as the broker knows; 1 for the first time. */
  readonly deliveries: number;
  /** Call after the effect is committed. */
  ack(): Promise<void>;
  /** Back to the broker, to be handed out again after about `delayMs`. */
  retry(delayMs: number): Promise<void>;
  /** Still at work: the broker should not hand it out again yet. */
  working(): Promise<void>;
}

export interface UnreadableDelivery {
  readonly raw: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
  readonly error: Error;
  readonly deliveries: number;
  /** Call once it is kept elsewhere. */
  ack(): Promise<void>;
  retry(delayMs: number): Promise<void>;
}

export interface Taker {
  /** Resolves once the delivery was answered (`ack` or `retry`). Never rejects. */
  take(delivery: Delivery): Promise<void>;
  unreadable(delivery: UnreadableDelivery): Promise<void>;
  /** The subscription lost its connection and is trying again, or has it back. */
  disturbed?(error: Error): void;
}

export interface Subscription {
  readonly name: string;
  /** The longest time after its first sight at which the broker may still hand out a message again. */
  readonly redeliveryMsMax: number;
  /** How long a delivery may stay unanswered before it is handed out again. Absent: as long as the connection lives. */
  readonly ackWaitMs?: number;
  /** What it asks the broker for, where it knows: `order.paid`, `order.*`, `*`. */
  readonly topics?: readonly string[];
  /** Begins to hand out. With order "key", per partition one after the other; else at most `concurrency` at once. */
  start(taker: Taker): Promise<void>;
  /** Takes no more; waits up to `drainMs` for what runs, then hands back the rest. */
  stop(options?: { readonly drainMs?: number }): Promise<void>;
}
