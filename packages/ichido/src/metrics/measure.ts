/** Events and sizes of the store → numbers. Everything that could grow without bound passes through a `Bound`. */
import { isIchidoError } from "../core/contract/errors.ts";
import type { IchidoEvent } from "../core/contract/events.ts";
import type { StoreStats } from "../core/contract/store.ts";
import type { Measurement } from "./families.ts";

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

/** A code or a class name: a message may hold anything. */
function errorType(error: unknown): string {
  if (error === undefined) return "";
  if (isIchidoError(error)) return error.code;
  const { code, name } = error as { readonly code?: unknown; readonly name?: unknown };
  const word = typeof code === "string" && code !== "" ? code : name;
  return typeof word === "string" && /^[\w.-]{1,64}$/.test(word) ? word : "error";
}

export function measurementsOf(event: IchidoEvent, { operation, word }: Bounds): readonly Measurement[] {
  switch (event.type) {
    case "request":
      return [
        {
          name: "idempotency.request.duration",
          value: event.durationMs / 1000,
          values: [operation(event.operation), event.outcome, statusClass(event.status), String(event.observed)],
        },
      ];
    case "takeover":
      return [{ name: "idempotency.lease.takeover", value: 1, values: [operation(event.operation)] }];
    case "lease-lost":
      return [{ name: "idempotency.lease.lost", value: 1, values: [operation(event.operation), event.reason] }];
    case "fence-rejected":
      return [{ name: "idempotency.fence.rejected", value: 1, values: [operation(event.operation), word(event.verb)] }];
    case "not-stored":
      return [{ name: "idempotency.response.not_stored", value: 1, values: [operation(event.operation)] }];
    case "store-call":
      return [
        {
          name: "idempotency.store.operation.duration",
          value: event.durationMs / 1000,
          values: [word(event.store), word(event.verb), word(errorType(event.error))],
        },
      ];
    case "sweep":
      return [{ name: "idempotency.purge.deleted", value: event.deleted, values: [] }];
    case "warning":
      return [{ name: "idempotency.warning", value: 1, values: [word(event.code)] }];
  }
}

/** `undefined`: the store did not answer, and nothing is claimed about it. */
export function gaugesOf(stats: StoreStats | undefined): readonly Measurement[] {
  if (stats === undefined) return [{ name: "idempotency.store.up", value: 0, values: [] }];
  const { processing, completed, failed, unknown } = stats;
  const states = Object.entries({ processing, completed, failed });
  return [
    { name: "idempotency.store.up", value: 1, values: [] },
    { name: "idempotency.record.active", value: processing - unknown, values: [] },
    { name: "idempotency.record.unknown", value: unknown, values: [] },
    { name: "idempotency.record.oldest_unknown", value: stats.oldestUnknownMs / 1000, values: [] },
    ...states.map(([state, value]): Measurement => ({
      name: "idempotency.store.record.count",
      value,
      values: [state],
    })),
    { name: "idempotency.store.record.size", value: stats.bodyBytes, values: [] },
    { name: "idempotency.purge.lag", value: stats.sweepLagMs / 1000, values: [] },
  ];
}
