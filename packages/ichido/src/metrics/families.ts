/**
 * Every metric, once: by OpenTelemetry's names, from which Prometheus's follow. `docs/reference/metrics.md` lists the
 * same; a test compares the two. The key, the tenant and the caller are never an attribute.
 */
export interface Family {
  readonly kind: "counter" | "histogram" | "gauge";
  /** UCUM, as OpenTelemetry writes it: `s`, `By`, or what is counted in braces. */
  readonly unit: string;
  readonly help: string;
  readonly attributes: readonly Attribute[];
}

/** The short names that Prometheus's labels have; OpenTelemetry's names are in `attributeNames`. */
export type Attribute =
  | "operation"
  | "outcome"
  | "status_class"
  | "observed"
  | "reason"
  | "verb"
  | "store"
  | "error_type"
  | "state"
  | "code"
  | "topic"
  | "route"
  | "handler";

export const attributeNames: Readonly<Record<Attribute, string>> = {
  operation: "idempotency.operation",
  outcome: "idempotency.outcome",
  status_class: "idempotency.status_class",
  observed: "idempotency.observed",
  reason: "idempotency.reason",
  verb: "idempotency.verb",
  store: "idempotency.store",
  error_type: "error.type",
  state: "idempotency.state",
  code: "idempotency.code",
  // As OpenTelemetry's conventions for messaging call where a message goes.
  topic: "messaging.destination.name",
  route: "outbox.route",
  handler: "inbox.handler",
};

const of =
  (kind: Family["kind"]) =>
  (unit: string, attributes: readonly Attribute[], help: string): Family => ({ kind, unit, help, attributes });
const [counter, histogram, gauge] = [of("counter"), of("histogram"), of("gauge")];

export const families = {
  "idempotency.request.duration": histogram(
    "s",
    ["operation", "outcome", "status_class", "observed"],
    "Requests to protected operations, from the header to the decision or to the recorded answer.",
  ),
  "idempotency.lease.takeover": counter("{lease}", ["operation"], "Keys taken over from an owner that vanished."),
  "idempotency.lease.lost": counter("{lease}", ["operation", "reason"], "Leases lost while their handler ran."),
  "idempotency.fence.rejected": counter("{write}", ["operation", "verb"], "Late writers stopped by the fence."),
  "idempotency.response.not_stored": counter(
    "{response}",
    ["operation"],
    "Answers that could not be recorded when they were sent.",
  ),
  "idempotency.store.operation.duration": histogram(
    "s",
    ["store", "verb", "error_type"],
    "Calls to the store; error_type is empty where the call succeeded.",
  ),
  "idempotency.purge.deleted": counter("{record}", [], "Expired records removed by this process."),
  "idempotency.attempt.dropped": counter("{attempt}", [], "Attempts that the attempt log had no room for."),
  "idempotency.duplicate.suspected": counter(
    "{pair}",
    ["operation"],
    "Two keys of one caller with the same content within minutes; nothing was stopped.",
  ),
  "idempotency.reconcile.finding": counter(
    "{record}",
    ["operation", "outcome"],
    "Records in doubt that a reconciler looked into.",
  ),
  "idempotency.warning": counter("{warning}", ["code"], "Warnings of the engine."),
  "idempotency.store.up": gauge("1", [], "Whether the store answered when it was last asked for its sizes."),
  "idempotency.record.active": gauge("{record}", [], "Records whose owner is at work."),
  "idempotency.record.unknown": gauge("{record}", [], "Records whose outcome is unknown."),
  "idempotency.record.oldest_unknown": gauge("s", [], "Age of the oldest record whose outcome is unknown."),
  "idempotency.store.record.count": gauge("{record}", ["state"], "Stored records by state."),
  "idempotency.store.record.size": gauge("By", [], "Stored response bodies."),
  "idempotency.purge.lag": gauge("s", [], "Age of the oldest record that a sweep would remove."),
  "outbox.publish.duration": histogram("s", ["topic"], "Events that a broker took over, and how long that took."),
  "outbox.publish.failed": counter("{event}", ["topic", "reason"], "Events that were not taken over this time."),
  "outbox.route.paused": counter("{pause}", ["route"], "Pauses of a route whose broker could not be used."),
  "outbox.relay.disturbed": counter("{event}", ["reason"], "Sessions that relays lost, and calls that failed."),
  "outbox.up": gauge("1", [], "Whether the outbox answered when it was last asked for its sizes."),
  "outbox.message.pending": gauge("{event}", [], "Events that wait for a relay."),
  "outbox.message.oldest_age": gauge("s", [], "Age of the oldest event that is due."),
  "outbox.message.dead": gauge("{event}", [], "Dead letters of the outbox."),
  "outbox.key.parked": gauge("{key}", [], "Keys that wait behind a dead letter."),
  "outbox.relay.active": gauge("{relay}", [], "Relays that share the outbox."),
  "inbox.process.duration": histogram("s", ["handler"], "Messages that took effect, and how long their attempt took."),
  "inbox.message.duplicate": counter("{message}", ["handler"], "Messages that had taken effect before."),
  "inbox.message.failed": counter("{message}", ["handler", "reason"], "Deliveries that did not take effect this time."),
  "inbox.up": gauge("1", [], "Whether the inbox answered when it was last asked for its sizes."),
  "inbox.message.remembered": gauge("{message}", [], "Messages that are remembered as processed."),
  "inbox.message.dead": gauge("{message}", [], "Dead letters of the inbox."),
  "inbox.message.oldest_dead": gauge("s", [], "Age of the oldest dead letter of the inbox."),
  "inbox.message.parked": gauge("{message}", [], "Messages that failed, and those behind them."),
  "inbox.message.oldest_parked": gauge("s", [], "Age of the oldest parked message."),
};

export type FamilyName = keyof typeof families;

/** One number that belongs to a family; values in the order of the family's attributes. */
export interface Measurement {
  readonly name: FamilyName;
  readonly value: number;
  readonly values: readonly string[];
}

const suffixes: Readonly<Record<string, string>> = { s: "_seconds", By: "_bytes" };

/** Dots become underscores; the unit and, for counters, `_total` are added (OpenTelemetry's rules for Prometheus). */
export function prometheusName(name: FamilyName): string {
  const { kind, unit } = families[name];
  return `${name.replaceAll(".", "_")}${suffixes[unit] ?? ""}${kind === "counter" ? "_total" : ""}`;
}
