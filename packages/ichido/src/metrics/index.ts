/**
 * ichido/metrics: what the engine did, for Prometheus and OpenTelemetry. Scrape each process, not the load balancer.
 */
import { environment, positive, readOptions } from "../core/contract/read-options.ts";
import type { Ichido } from "../core/engine/create-ichido.ts";
import { withDeadline } from "../core/contract/deadline.ts";
import type { Environment } from "../core/contract/environment.ts";
import type { StoreStats } from "../core/contract/store.ts";
import type { Measurement } from "./families.ts";
import {
  contentType,
  fetchHandler,
  nodeHandler,
  type FetchMetricsHandler,
  type NodeMetricsHandler,
} from "./handlers.ts";
import { boundTo, gaugesOf, measurementOf, type Bounds } from "./measure.ts";
import { meterSink, type MeterLike, type MeterSink } from "./open-telemetry.ts";
import { Registry } from "./registry.ts";

export const metricsDefaults = {
  operationsMax: 200,
  seriesMax: 2_000,
  statsMs: 5_000,
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
  scanTimeoutMs: positive(metricsDefaults.scanTimeoutMs),
  environment,
};

/** Asks the store once for many readers, and keeps the result for `statsMs`, also when the store did not answer. */
function cachedStats(
  ask: () => Promise<StoreStats>,
  { statsMs, scanTimeoutMs, environment }: Pick<Required<MetricsOptions>, "statsMs" | "scanTimeoutMs" | "environment">,
): () => Promise<StoreStats | undefined> {
  let current: Promise<StoreStats | undefined> | undefined;
  let untilMs = 0;
  return () => {
    if (current !== undefined && environment.monotonicMs() < untilMs) return current;
    untilMs = Number.POSITIVE_INFINITY;
    current = withDeadline(environment, scanTimeoutMs, ask)
      .catch(() => undefined)
      .finally(() => {
        untilMs = environment.monotonicMs() + statsMs;
      });
    return current;
  };
}

export function createMetrics<Native>(
  ichido: Pick<Ichido<Native>, "on" | "store">,
  options: MetricsOptions = {},
): Metrics {
  const settings = readOptions("createMetrics", options, optionTable);
  const bounds: Bounds = { operation: boundTo(settings.operationsMax), word: boundTo(wordsMax) };
  const registry = new Registry(settings.seriesMax);
  const meters = new Set<MeterSink>();
  const stats = cachedStats(() => ichido.store.stats(), settings);
  const gauges = async (): Promise<readonly Measurement[]> => gaugesOf(await stats());
  const text = async (): Promise<string> => registry.text(await gauges());

  const stopListening = ichido.on((event) => {
    const measurement = measurementOf(event, bounds);
    registry.add(measurement);
    for (const meter of meters) meter.add(measurement);
  });

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
      stopListening();
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
