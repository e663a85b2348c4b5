/** What was measured, as a table: medians over rounds, ratios with their spread. */
import type { Measured, Outcome, Sample } from "./run.ts";
import { median } from "../measure.ts";
import { bodyCost } from "./body-cost.ts";

type Pick = (sample: Sample) => number | undefined;

function medianOf({ rounds }: Measured, pick: Pick): number | undefined {
  const values = rounds.map(({ own }) => pick(own)).filter((value) => value !== undefined);
  return values.length === 0 ? undefined : median(values);
}

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

function spread(values: readonly number[]): Spread {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

export interface Row {
  readonly server: string;
  readonly mix: string;
  readonly bodyBytes: number;
  readonly perSecond: number;
  readonly ratio: Spread;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly cpuUs: number;
  /** Over bare of the same round. */
  readonly addedUs: Spread;
  readonly helperUs: number | undefined;
  readonly storeMsPer10k: number | undefined;
  readonly allocatedBytes: number;
  readonly residentBytes: number;
  readonly bytesPerKey: number | undefined;
  readonly generatorBusy: number;
  readonly fails: string | undefined;
}

export function rowsOf({ measured, bytesPerKey }: Outcome): readonly Row[] {
  return measured.map((each) => {
    const of = (pick: Pick): number => medianOf(each, pick) ?? Number.NaN;
    return {
      server: each.server.name,
      mix: each.mix,
      bodyBytes: each.bodyBytes,
      perSecond: of((sample) => sample.perSecond),
      ratio: spread(each.rounds.map(({ bare, own }) => own.perSecond / bare.perSecond)),
      p50Ms: of((sample) => sample.p50Ms),
      p99Ms: of((sample) => sample.p99Ms),
      cpuUs: of((sample) => sample.cpuUs),
      addedUs: spread(each.rounds.map(({ bare, own }) => own.cpuUs - bare.cpuUs)),
      helperUs: medianOf(each, (sample) => sample.helperUs),
      storeMsPer10k: medianOf(each, (sample) => sample.storeMs),
      allocatedBytes: of((sample) => sample.allocatedBytes),
      residentBytes: of((sample) => sample.residentBytes),
      bytesPerKey: bytesPerKey[each.server.name],
      generatorBusy: Math.max(...each.rounds.map(({ own, bare }) => Math.max(own.generatorBusy, bare.generatorBusy))),
      fails: each.server.fails,
    };
  });
}

const fixed = (value: number | undefined, digits = 0): string => (value === undefined ? "" : value.toFixed(digits));
const range = ({ median: middle, min, max }: Spread, digits: number): string =>
  `${middle.toFixed(digits)} (${min.toFixed(digits)}–${max.toFixed(digits)})`;

const columns: readonly (readonly [string, (row: Row) => string])[] = [
  ["Server", ({ server }) => server],
  ["Mix", ({ mix }) => mix],
  ["Body", ({ bodyBytes }) => String(bodyBytes)],
  ["Requests/s", ({ perSecond }) => fixed(perSecond)],
  ["Ratio", ({ ratio }) => range(ratio, 2)],
  ["p50 ms", ({ p50Ms }) => fixed(p50Ms, 1)],
  ["p99 ms", ({ p99Ms }) => fixed(p99Ms, 1)],
  ["CPU µs", ({ cpuUs }) => fixed(cpuUs)],
  ["Added µs", ({ addedUs }) => range(addedUs, 0)],
  ["Helper threads µs", ({ helperUs }) => fixed(helperUs)],
  ["Store ms/10k", ({ storeMsPer10k }) => fixed(storeMsPer10k)],
  ["Allocated B", ({ allocatedBytes }) => fixed(allocatedBytes)],
  ["Resident MB", ({ residentBytes }) => fixed(residentBytes / 1e6)],
  ["B/key", ({ bytesPerKey }) => fixed(bytesPerKey)],
];

export function tableOf(rows: readonly Row[]): string {
  return tableOfCells([columns.map(([title]) => title), ...rows.map((row) => columns.map(([, of]) => of(row)))]);
}

/** The first line holds the titles. */
export function tableOfCells(cells: readonly (readonly string[])[]): string {
  const widths = (cells[0] ?? []).map((_, column) => Math.max(...cells.map((line) => line[column]?.length ?? 0)));
  const lines = cells.map((line) => `| ${line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`);
  lines.splice(1, 0, `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`);
  return lines.join("\n");
}

/** A generator that has no time left measures itself. */
const busyMax = 0.9;

export function notesOf(rows: readonly Row[]): string {
  const peers = new Map(rows.flatMap(({ server, fails }) => (fails === undefined ? [] : [[server, fails]])));
  const busy = rows.filter(({ generatorBusy }) => generatorBusy > busyMax);
  const sizes = [...new Set(rows.map(({ bodyBytes }) => bodyBytes))].filter((bytes) => bytes >= 1_000);
  return [
    "Ratio: requests per second to those of the bare framework in the same round, bare frameworks to bare Express.",
    "Medians over rounds (least and most). CPU, helper threads and allocated bytes are per request; CPU has the threads in it.",
    ...[...peers].map(([server, fails]) => `${server} fails ${fails} (\`npm run bench:http -- --check\`).`),
    ...busy.map(({ server, mix }) => `WARNING: the load generator had no time left (${server}, ${mix}).`),
    ...sizes.map(bodyCost),
  ].join("\n");
}
