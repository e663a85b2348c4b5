/** The spans of a request, in the words of the metrics. */
import type { RequestOutcome } from "../contract/events.ts";
import type { Identity } from "../contract/record.ts";
import type { Span, SpanAttributes, Tracing } from "../contract/tracing.ts";
import { keyHashOf } from "../request/scope.ts";

export function begin(tracing: Tracing | undefined, operation: string): Span | undefined {
  return tracing?.begin("idempotency.request", { attributes: { "idempotency.operation": operation } });
}

export function wordsOf(
  outcome: RequestOutcome,
  status: number | undefined,
  identity: Identity | undefined,
): SpanAttributes {
  return {
    "idempotency.outcome": outcome,
    "idempotency.key_hash": identity === undefined ? undefined : keyHashOf(identity),
    "http.response.status_code": status,
  };
}
