/** What was counted in this process, and its text for Prometheus. */
import { families, prometheusName, type Family, type FamilyName, type Measurement } from "./families.ts";
import { overflowValue } from "./measure.ts";

/** In seconds: from a cached replay to the longest wait of a caller. */
export const buckets: readonly number[] = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
];

interface Series {
  readonly labels: string;
  sum: number;
  count: number;
  /** Observations up to each bound, not cumulated; empty for a counter. */
  readonly within: number[];
}

function escaped(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

function labelsOf(family: Family, values: readonly string[]): string {
  return family.attributes.map((name, index) => `${name}="${escaped(values[index] ?? "")}"`).join(",");
}

const braced = (labels: string): string => (labels === "" ? "" : `{${labels}}`);

function seriesLines(name: string, series: Series): readonly string[] {
  const { labels, within, sum, count } = series;
  if (within.length === 0) return [`${name}${braced(labels)} ${sum}`];
  const before = labels === "" ? "" : `${labels},`;
  let cumulated = 0;
  const lines = buckets.map((bound, index) => {
    cumulated += within[index] ?? 0;
    return `${name}_bucket{${before}le="${bound}"} ${cumulated}`;
  });
  return [
    ...lines,
    `${name}_bucket{${before}le="+Inf"} ${count}`,
    `${name}_sum${braced(labels)} ${sum}`,
    `${name}_count${braced(labels)} ${count}`,
  ];
}

export class Registry {
  readonly #series = new Map<FamilyName, Map<string, Series>>();
  readonly #seriesMax: number;

  constructor(seriesMax: number) {
    this.#seriesMax = seriesMax;
    for (const [name, { kind, attributes }] of Object.entries(families) as [FamilyName, Family][]) {
      this.#series.set(name, new Map());
      // A counter without attributes starts at 0, so that a collector sees its first increase.
      if (kind === "counter" && attributes.length === 0) this.add({ name, value: 0, values: [] });
    }
  }

  #seriesOf({ name, values }: Measurement): Series {
    const all = this.#series.get(name) as Map<string, Series>;
    const family: Family = families[name];
    let labels = labelsOf(family, values);
    let series = all.get(labels);
    if (series === undefined && all.size >= this.#seriesMax) {
      labels = labelsOf(
        family,
        values.map(() => overflowValue),
      );
      series = all.get(labels);
    }
    if (series === undefined) {
      series = { labels, sum: 0, count: 0, within: family.kind === "histogram" ? buckets.map(() => 0) : [] };
      all.set(labels, series);
    }
    return series;
  }

  add(measurement: Measurement): void {
    const series = this.#seriesOf(measurement);
    series.sum += measurement.value;
    series.count += 1;
    if (series.within.length === 0) return;
    const index = buckets.findIndex((bound) => measurement.value <= bound);
    if (index >= 0) series.within[index] = (series.within[index] ?? 0) + 1;
  }

  /** Prometheus text, format 0.0.4, with these gauges. */
  text(gauges: readonly Measurement[]): string {
    const lines: string[] = [];
    for (const [name, all] of this.#series) {
      const { kind, help } = families[name];
      const spelled = prometheusName(name);
      const samples =
        kind === "gauge"
          ? gauges
              .filter((gauge) => gauge.name === name)
              .map(({ value, values }) => `${spelled}${braced(labelsOf(families[name], values))} ${value}`)
          : [...all.values()].flatMap((series) => seriesLines(spelled, series));
      // A counter that has not counted is announced all the same: rules and dashboards can be checked against a new process.
      if (samples.length > 0 || kind !== "gauge")
        lines.push(`# HELP ${spelled} ${help}`, `# TYPE ${spelled} ${kind}`, ...samples);
    }
    return `${lines.join("\n")}\n`;
  }
}
