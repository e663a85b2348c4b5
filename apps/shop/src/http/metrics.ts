/** Prometheus text. Labels come from fixed sets; a key, a tenant or a user is never one. */
import type { Ichido, IchidoEvent, StoreStats } from "ichido";
import type { Request } from "express";

export interface Metrics {
  text(): Promise<string>;
}

export function shopMetrics(
  ichido: Ichido<Request>,
  countPayments: () => Promise<Readonly<Record<string, number>>>,
): Metrics {
  const requests = new Map<string, number>();
  const counters = { takeover: 0, "lease-lost": 0, "fence-rejected": 0 };
  ichido.on((event: IchidoEvent) => {
    if (event.type === "request") {
      const labels = `operation="${event.operation}",outcome="${event.outcome}"`;
      requests.set(labels, (requests.get(labels) ?? 0) + 1);
    } else if (event.type in counters) {
      counters[event.type as keyof typeof counters] += 1;
    }
  });

  return {
    text: async () => {
      const [stats, payments] = await Promise.all([ichido.store.stats(), countPayments()]);
      return [
        ...storeGauges(stats),
        ...family("shop_payments", "gauge", "Payments by status.", [...labelled("status", payments)]),
        ...family("idempotency_requests_total", "counter", "Requests to keyed operations of this process.", requests),
        ...family(
          "idempotency_takeovers_total",
          "counter",
          "Keys taken over from an owner that vanished.",
          counters.takeover,
        ),
        ...family(
          "idempotency_leases_lost_total",
          "counter",
          "Leases lost while the handler ran.",
          counters["lease-lost"],
        ),
        ...family("idempotency_fence_rejected_total", "counter", "Late writes stopped.", counters["fence-rejected"]),
        "",
      ].join("\n");
    },
  };
}

function storeGauges(stats: StoreStats): readonly string[] {
  const { processing, completed, failed, unknown } = stats;
  const states = labelled("state", { processing, completed, failed, unknown });
  return [
    ...family("idempotency_store_record_count", "gauge", "Stored records by state.", states),
    ...family("idempotency_store_body_bytes", "gauge", "Stored response bodies.", stats.bodyBytes),
    ...family(
      "idempotency_record_oldest_unknown_seconds",
      "gauge",
      "Age of the oldest open outcome.",
      stats.oldestUnknownMs / 1000,
    ),
    ...family(
      "idempotency_purge_lag_seconds",
      "gauge",
      "Age of the oldest record a sweep would remove.",
      stats.sweepLagMs / 1000,
    ),
  ];
}

function family(
  name: string,
  type: "gauge" | "counter",
  help: string,
  samples: number | Iterable<readonly [labels: string, value: number]>,
): readonly string[] {
  const lines =
    typeof samples === "number" ? [`${name} ${samples}`] : [...samples].map(([l, value]) => `${name}{${l}} ${value}`);
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines];
}

function labelled(label: string, values: Readonly<Record<string, number>>): readonly (readonly [string, number])[] {
  return Object.entries(values).map(([value, count]) => [`${label}="${value}"`, count] as const);
}
