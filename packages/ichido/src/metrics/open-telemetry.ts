/** The same numbers through a meter of `@opentelemetry/api`, by shape alone: no import of it is needed. */
import { attributeNames, families, type Family, type FamilyName, type Measurement } from "./families.ts";
import { buckets } from "./registry.ts";

type Attributes = Record<string, string>;

interface InstrumentOptions {
  readonly description: string;
  readonly unit: string;
  readonly advice?: { explicitBucketBoundaries: number[] };
}

export interface ObservableInstrumentLike {
  addCallback(callback: ObserveLike): void;
  removeCallback(callback: ObserveLike): void;
}

export type ObserveLike = (result: { observe(value: number, attributes?: Attributes): void }) => void | Promise<void>;

/** What this file needs from a `Meter`. */
export interface MeterLike {
  createCounter(name: string, options: InstrumentOptions): { add(value: number, attributes?: Attributes): void };
  createHistogram(name: string, options: InstrumentOptions): { record(value: number, attributes?: Attributes): void };
  createObservableGauge(name: string, options: InstrumentOptions): ObservableInstrumentLike;
}

export interface MeterSink {
  add(measurement: Measurement): void;
  stop(): void;
}

function attributesOf(name: FamilyName, values: readonly string[]): Attributes {
  const entries = families[name].attributes.map(
    (attribute, index) => [attributeNames[attribute], values[index] ?? ""] as const,
  );
  // The convention of OpenTelemetry: no `error.type` where there was no error.
  return Object.fromEntries(entries.filter(([, value]) => value !== ""));
}

export function meterSink(meter: MeterLike, gauges: () => Promise<readonly Measurement[]>): MeterSink {
  const sinks = new Map<FamilyName, (value: number, attributes: Attributes) => void>();
  const removals: (() => void)[] = [];

  for (const [name, family] of Object.entries(families) as [FamilyName, Family][]) {
    const options = { description: family.help, unit: family.unit };
    if (family.kind === "counter") {
      const counter = meter.createCounter(name, options);
      sinks.set(name, (value, attributes) => counter.add(value, attributes));
    } else if (family.kind === "histogram") {
      const advice = { explicitBucketBoundaries: [...buckets] };
      const histogram = meter.createHistogram(name, { ...options, advice });
      sinks.set(name, (value, attributes) => histogram.record(value, attributes));
    } else {
      const gauge = meter.createObservableGauge(name, options);
      const observe: ObserveLike = async (result) => {
        for (const each of await gauges()) {
          if (each.name === name) result.observe(each.value, attributesOf(name, each.values));
        }
      };
      gauge.addCallback(observe);
      removals.push(() => gauge.removeCallback(observe));
    }
  }

  return {
    add: ({ name, value, values }) => sinks.get(name)?.(value, attributesOf(name, values)),
    stop: () => removals.splice(0).forEach((remove) => remove()),
  };
}
