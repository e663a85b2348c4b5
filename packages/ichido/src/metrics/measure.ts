/**
 * Turns events and sizes of the store into numbers. Every value that could grow without bound passes through a `Bound`.
 */
import { isIchidoError } from "../core/contract/errors.ts";
import type { IchidoEvent } from "../core/contract/events.ts";
import type { StoreStats } from "../core/contract/store.ts";
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
  readonly word: Bound;
}

function statusClass(status: number | undefined): string {
  return status === undefined || status < 100 || status > 599 ? "none" : `${Math.floor(status / 100)}xx`;
}

/** A code or a class name, never the message: a message may contain anything. */
function errorType(error: unknown): string {
  if (error === undefined) return "";
  if (isIchidoError(error)) return error.code;
  const { code, name } = error as { readonly code?: unknown; readonly name?: unknown };
  const word = typeof code === "string" && code !== "" ? code : name;
  return typeof word === "string" && /^[\w.-]{1,64}$/.test(word) ? word : "error";
}

const measured = (name: FamilyName, value: number, ...values: readonly string[]): Measurement => ({
  name,
  value,
  values,
});

export function measurementOf(event: IchidoEvent, { operation, word }: Bounds): Measurement {
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
      const values = [word(event.store), word(event.verb), word(errorType(event.error))];
      return measured("idempotency.store.operation.duration", event.durationMs / 1000, ...values);
    }
    case "sweep":
      return measured("idempotency.purge.deleted", event.deleted);
    case "attempts-logged":
      return measured("idempotency.attempt.dropped", event.dropped);
    case "suspected-duplicate":
      return measured("idempotency.duplicate.suspected", 1, operation(event.operation));
    case "warning":
      return measured("idempotency.warning", 1, word(event.code));
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
