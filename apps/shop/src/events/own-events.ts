/** A broker may carry events of shops on other databases: those are acknowledged unseen. */
import type { Subscription } from "ichido/outbox";

export function ownEvents(subscription: Subscription, source: string): Subscription {
  return {
    name: subscription.name,
    redeliveryMsMax: subscription.redeliveryMsMax,
    ...(subscription.ackWaitMs === undefined ? {} : { ackWaitMs: subscription.ackWaitMs }),
    start: (taker) =>
      subscription.start({
        take: (delivery) => (delivery.message.source === source ? taker.take(delivery) : delivery.ack()),
        unreadable: (delivery) => taker.unreadable(delivery),
        disturbed: (error) => taker.disturbed?.(error),
      }),
    stop: (options) => subscription.stop(options),
  };
}
