/**
 * Turns events and sizes of the store into numbers. Every value that could grow without bound passes through a `Bound`.
 */
import { errorType } from "../core/contract/error-type.ts";
import type { IchidoEvent } from "../core/contract/events.ts";
import type { StoreStats } from "../core/contract/store.ts";
import type { ConsumerEvent, InboxStats } from "../inbox/index.ts";
import type { OutboxStats, RelayEvent } from "../outbox/index.ts";
import type { FamilyName, Measurement } from "./families.ts";

/** Values past a bound are counted together under this word. */
export const overflowValue = "other";

/** Lets the first `max` distinct values through. */
export type Bound = (value: string) => string;

export function boundTo(max: number): Bound {
  const seen = new Set<string>();
  return (value) => {
    if (seen.has(value)) return value;
    if (seen.size >= max) return overflowValue;
    seen.add(value);
    return value;
  };
}

export interface Bounds {
  readonly operation: Bound;
  readonly topic: Bound;
  readonly handler: Bound;
  readonly word: Bound;
}

function statusClass(status: number | undefined): string {
  return status === undefined || status < 100 || status > 599 ? "none" : `${Math.floor(status / 100)}xx`;
}

const measured = (name: FamilyName, value: number, ...values: readonly string[]): Measurement => ({
  name,
  value,
  values,
});

/** Nothing of what a process that ends could only tell to nobody. */
export function measurementOf(event: IchidoEvent, { operation, word }: Bounds): Measurement | undefined {
  switch (event.type) {
    case "request": {
      const values = [operation(event.operation), event.outcome, statusClass(event.status), String(event.observed)];
      return measured("idempotency.request.duration", event.durationMs / 1000, ...values);
    }
    case "takeover":
      return measured("idempotency.lease.takeover", 1, operation(event.operation));
    case "lease-lost":
      return measured("idempotency.lease.lost", 1, operation(event.operation), event.reason);
    case "fence-rejected":
      return measured("idempotency.fence.rejected", 1, operation(event.operation), word(event.verb));
    case "not-stored":
      return measured("idempotency.response.not_stored", 1, operation(event.operation));
    case "store-call": {
      const values = [
        word(event.store),
        word(event.verb),
        event.error === undefined ? "" : word(errorType(event.error)),
      ];
      return measured("idempotency.store.operation.duration", event.durationMs / 1000, ...values);
    }
    case "reconciled":
      return measured("idempotency.reconcile.finding", 1, operation(event.operation), event.outcome);
    case "sweep":
      return measured("idempotency.purge.deleted", event.deleted);
    case "attempts-logged":
      return measured("idempotency.attempt.dropped", event.dropped);
    case "suspected-duplicate":
      return measured("idempotency.duplicate.suspected", 1 + (event.more ?? 0), operation(event.operation));
    case "warning":
      return measured("idempotency.warning", 1, word(event.code));
    case "drained":
      return undefined;
  }
}

export function measurementOfRelay(event: RelayEvent, { topic, word }: Bounds): Measurement | undefined {
  switch (event.type) {
    case "sent":
      return measured("outbox.publish.duration", event.tookMs / 1000, topic(event.topic));
    case "rejected":
    case "dead":
    case "set-aside":
    case "unrouted":
      return measured("outbox.publish.failed", 1, topic(event.topic), event.type);
    case "paused":
      return measured("outbox.route.paused", 1, word(event.route));
    case "session-lost":
    case "failed":
      return measured("outbox.relay.disturbed", 1, event.type);
    case "resumed":
    case "session-ended":
      return undefined;
  }
}

/** What no handler wanted, or what could not be read, is counted under this name. */
const noHandler = "";

export function measurementOfConsumer(event: ConsumerEvent, { handler }: Bounds): Measurement {
  switch (event.type) {
    case "processed":
      return measured("inbox.process.duration", event.tookMs / 1000, handler(event.handler));
    case "duplicate":
      return measured("inbox.message.duplicate", 1, handler(event.handler));
    default: {
      const name = "handler" in event && event.handler !== undefined ? handler(event.handler) : noHandler;
      return measured("inbox.message.failed", 1, name, event.type);
    }
  }
}

/** `undefined`: the store did not answer, so its sizes are not reported. */
export function gaugesOf(stats: StoreStats | undefined): readonly Measurement[] {
  if (stats === undefined) return [measured("idempotency.store.up", 0)];
  const { processing, completed, failed, unknown } = stats;
  const states = Object.entries({ processing, completed, failed, unknown });
  return [
    measured("idempotency.store.up", 1),
    measured("idempotency.record.active", processing),
    measured("idempotency.record.unknown", unknown),
    measured("idempotency.record.oldest_unknown", stats.oldestUnknownMs / 1000),
    ...states.map(([state, value]) => measured("idempotency.store.record.count", value, state)),
    measured("idempotency.store.record.size", stats.bodyBytes),
    measured("idempotency.purge.lag", stats.sweepLagMs / 1000),
  ];
}

export function outboxGaugesOf(stats: OutboxStats | undefined): readonly Measurement[] {
  if (stats === undefined) return [measured("outbox.up", 0)];
  return [
    measured("outbox.up", 1),
    measured("outbox.message.pending", stats.pending),
    measured("outbox.message.oldest_age", stats.oldestMs / 1000),
    measured("outbox.message.dead", stats.dead),
    measured("outbox.key.parked", stats.parked),
    measured("outbox.relay.active", stats.relays),
  ];
}

export function inboxGaugesOf(stats: InboxStats | undefined): readonly Measurement[] {
  if (stats === undefined) return [measured("inbox.up", 0)];
  return [
    measured("inbox.up", 1),
    measured("inbox.message.remembered", stats.processed),
    measured("inbox.message.dead", stats.dead),
    measured("inbox.message.oldest_dead", (stats.oldestDeadMs ?? 0) / 1000),
    measured("inbox.message.parked", stats.parked),
    measured("inbox.message.oldest_parked", (stats.oldestParkedMs ?? 0) / 1000),
  ];
}
