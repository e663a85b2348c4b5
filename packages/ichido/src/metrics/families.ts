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

/** Short as Prometheus's labels are spelled; OpenTelemetry's names are in `attributeNames`. */
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
  | "code";

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
};

export const families = {
  "idempotency.request.duration": {
    kind: "histogram",
    unit: "s",
    help: "Requests to protected operations, from the header to the decision or to the recorded answer.",
    attributes: ["operation", "outcome", "status_class", "observed"],
  },
  "idempotency.lease.takeover": {
    kind: "counter",
    unit: "{lease}",
    help: "Keys taken over from an owner that vanished.",
    attributes: ["operation"],
  },
  "idempotency.lease.lost": {
    kind: "counter",
    unit: "{lease}",
    help: "Leases lost while their handler ran.",
    attributes: ["operation", "reason"],
  },
  "idempotency.fence.rejected": {
    kind: "counter",
    unit: "{write}",
    help: "Late writers stopped by the fence.",
    attributes: ["operation", "verb"],
  },
  "idempotency.response.not_stored": {
    kind: "counter",
    unit: "{response}",
    help: "Answers that could not be recorded when they were sent.",
    attributes: ["operation"],
  },
  "idempotency.store.operation.duration": {
    kind: "histogram",
    unit: "s",
    help: "Calls to the store; error_type is empty where the call succeeded.",
    attributes: ["store", "verb", "error_type"],
  },
  "idempotency.purge.deleted": {
    kind: "counter",
    unit: "{record}",
    help: "Expired records removed by this process.",
    attributes: [],
  },
  "idempotency.warning": {
    kind: "counter",
    unit: "{warning}",
    help: "Warnings of the engine.",
    attributes: ["code"],
  },
  "idempotency.store.up": {
    kind: "gauge",
    unit: "1",
    help: "Whether the store answered when it was last asked for its sizes.",
    attributes: [],
  },
  "idempotency.record.active": {
    kind: "gauge",
    unit: "{record}",
    help: "Records whose owner is at work.",
    attributes: [],
  },
  "idempotency.record.unknown": {
    kind: "gauge",
    unit: "{record}",
    help: "Records whose outcome is unknown.",
    attributes: [],
  },
  "idempotency.record.oldest_unknown": {
    kind: "gauge",
    unit: "s",
    help: "Age of the oldest record whose outcome is unknown.",
    attributes: [],
  },
  "idempotency.store.record.count": {
    kind: "gauge",
    unit: "{record}",
    help: "Stored records by state.",
    attributes: ["state"],
  },
  "idempotency.store.record.size": {
    kind: "gauge",
    unit: "By",
    help: "Stored response bodies.",
    attributes: [],
  },
  "idempotency.purge.lag": {
    kind: "gauge",
    unit: "s",
    help: "Age of the oldest record that a sweep would remove.",
    attributes: [],
  },
} as const satisfies Readonly<Record<string, Family>>;

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
