/**
 * ichido/metrics: what the engine, the relays and the consumers did, for Prometheus and OpenTelemetry. Scrape each process, not the load balancer.
 */
import { environment, given, positive, readOptions, type ReadBy } from "../core/contract/read-options.ts";
import type { Ichido } from "../core/engine/create-ichido.ts";
import type { Environment } from "../core/contract/environment.ts";
import type { Store } from "../core/contract/store.ts";
import type { Consumer, Inbox } from "../inbox/index.ts";
import type { Outbox, Relay } from "../outbox/index.ts";
import type { Measurement } from "./families.ts";
import {
  contentType,
  fetchHandler,
  nodeHandler,
  type FetchMetricsHandler,
  type NodeMetricsHandler,
} from "./handlers.ts";
import {
  boundTo,
  gaugesOf,
  inboxGaugesOf,
  measurementOf,
  measurementOfConsumer,
  measurementOfRelay,
  outboxGaugesOf,
  type Bounds,
} from "./measure.ts";
import { meterSink, type MeterLike, type MeterSink } from "./open-telemetry.ts";
import { Registry } from "./registry.ts";
import { cachedSizes } from "./sizes.ts";

export const metricsDefaults = {
  operationsMax: 200,
  seriesMax: 2_000,
  statsMs: 5_000,
  eventStatsMs: 30_000,
  scanTimeoutMs: 2_000,
} as const;

/** Stores, verbs, warning and error codes: a few dozen in a healthy program. */
const wordsMax = 100;

export interface MetricsOptions {
  /** Operations with a series of their own; later ones are counted together as `other`. */
  readonly operationsMax?: number;
  /** Series of one metric; further ones are counted together. */
  readonly seriesMax?: number;
  /** How long the store's sizes are reused before the store counts again: counting a large table costs time. */
  readonly statsMs?: number;
  /** How long the store may take to count; then `idempotency_store_up` is 0. */
  readonly scanTimeoutMs?: number;
  /** Whose sizes are shown, and whose events are counted. */
  readonly outbox?: Pick<Outbox, "stats">;
  readonly inbox?: Pick<Inbox, "stats">;
  readonly relays?: readonly Pick<Relay, "on">[];
  readonly consumers?: readonly Pick<Consumer, "on">[];
  /** As `statsMs`, for outbox and inbox, which count every row that they have. */
  readonly eventStatsMs?: number;
  readonly environment?: Environment;
}

export interface Metrics {
  /** Prometheus text, format 0.0.4. Never rejects because the store is down. */
  text(): Promise<string>;
  readonly contentType: string;
  /** `app.get("/metrics", metrics.handler)` on Express; also plain `node:http`. */
  readonly handler: NodeMetricsHandler;
  /** `(Request) => Response`: Hono, Next.js, Bun, Deno, Workers. */
  readonly fetch: FetchMetricsHandler;
  /** Sends the same numbers to a meter of `@opentelemetry/api` from now on. Returns the function that ends this. */
  observeWith(meter: MeterLike): () => void;
  /** Stops listening. What was counted can still be read. */
  close(): void;
}

const optionTable = {
  operationsMax: positive(metricsDefaults.operationsMax),
  seriesMax: positive(metricsDefaults.seriesMax),
  statsMs: positive(metricsDefaults.statsMs),
  eventStatsMs: positive(metricsDefaults.eventStatsMs),
  scanTimeoutMs: positive(metricsDefaults.scanTimeoutMs),
  outbox: given<MetricsOptions["outbox"]>(),
  inbox: given<MetricsOptions["inbox"]>(),
  relays: given<NonNullable<MetricsOptions["relays"]>>([]),
  consumers: given<NonNullable<MetricsOptions["consumers"]>>([]),
  environment,
};

/** Every size that a database can be asked for, each with its own memory. */
function gaugesFrom(
  store: Pick<Store, "stats">,
  { outbox, inbox }: Pick<MetricsOptions, "outbox" | "inbox">,
  { statsMs, eventStatsMs, scanTimeoutMs, environment }: ReadBy<typeof optionTable>,
): () => Promise<readonly Measurement[]> {
  const asked = <Sizes>(
    holder: { readonly stats: () => Promise<Sizes> },
    keepMs: number,
    gauges: (sizes: Sizes | undefined) => readonly Measurement[],
  ) => {
    const sizes = cachedSizes(() => holder.stats(), { keepMs, scanTimeoutMs, environment });
    return async (): Promise<readonly Measurement[]> => gauges(await sizes());
  };
  const all = [
    asked(store, statsMs, gaugesOf),
    ...(outbox === undefined ? [] : [asked(outbox, eventStatsMs, outboxGaugesOf)]),
    ...(inbox === undefined ? [] : [asked(inbox, eventStatsMs, inboxGaugesOf)]),
  ];
  return async () => (await Promise.all(all.map((gauges) => gauges()))).flat();
}

export function createMetrics<Native>(
  ichido: Pick<Ichido<Native>, "on" | "store">,
  options: MetricsOptions = {},
): Metrics {
  const settings = readOptions("createMetrics", options, optionTable);
  const bounds: Bounds = {
    operation: boundTo(settings.operationsMax),
    topic: boundTo(settings.operationsMax),
    handler: boundTo(settings.operationsMax),
    word: boundTo(wordsMax),
  };
  const registry = new Registry(settings.seriesMax);
  const meters = new Set<MeterSink>();
  const gauges = gaugesFrom(ichido.store, options, settings);
  const text = async (): Promise<string> => registry.text(await gauges());

  function add(measurement: Measurement | undefined): void {
    if (measurement === undefined) return;
    registry.add(measurement);
    for (const meter of meters) meter.add(measurement);
  }

  const removals = [
    ichido.on((event) => add(measurementOf(event, bounds))),
    ...settings.relays.map((relay) => relay.on((event) => add(measurementOfRelay(event, bounds)))),
    ...settings.consumers.map((consumer) => consumer.on((event) => add(measurementOfConsumer(event, bounds)))),
  ];

  return {
    text,
    contentType,
    handler: nodeHandler(text),
    fetch: fetchHandler(text),
    observeWith(meter) {
      const sink = meterSink(meter, gauges);
      meters.add(sink);
      return () => {
        meters.delete(sink);
        sink.stop();
      };
    },
    close() {
      removals.forEach((remove) => remove());
      for (const meter of meters) meter.stop();
      meters.clear();
    },
  };
}

export { attributeNames, families, prometheusName, type Family, type FamilyName } from "./families.ts";
export { overflowValue } from "./measure.ts";
export type { MeterLike, ObservableInstrumentLike, ObserveLike } from "./open-telemetry.ts";
export { buckets } from "./registry.ts";
export type { FetchMetricsHandler, NodeMetricsHandler } from "./handlers.ts";
