/** What was measured, as tables: times in milliseconds, ratios to the smallest level in the same turns. */
import { tableOfCells } from "../http/table.ts";
import type { Level } from "./level.ts";
import type { Measured } from "./measured.ts";
import { verbs, type Side, type Sides } from "./turns.ts";

const wordsFor: Readonly<Record<Level["shape"], string>> = {
  random: "random",
  v7: "UUID v7",
  hash: "random, 16 partitions",
  expired: "random, half expired",
  own: "random, written by the store",
};

const power = (rows: number): string => (Number.isInteger(Math.log10(rows)) ? `10^${Math.log10(rows)}` : String(rows));
const ms = (value: number): string => value.toFixed(value < 0.1 ? 4 : value < 10 ? 2 : 1);
const ratio = (own: number, base: number): string => (own / base).toFixed(2);

function timesOf(side: Side): string[] {
  return verbs.map((verb) => `${ms(side[verb].p50Ms)} / ${ms(side[verb].p99Ms)}`);
}

function ratiosOf({ own, base }: Sides): string[] {
  return verbs.map((verb) => {
    const [mine, theirs] = [own[verb], base[verb]];
    return `${ratio(mine.p50Ms, theirs.p50Ms)} / ${ratio(mine.p99Ms, theirs.p99Ms)}`;
  });
}

/** Each verb's times and their ratio beside each other. */
const beside = (times: readonly string[], ratios: readonly string[]): string[] =>
  times.flatMap((time, place) => [time, ratios[place] ?? ""]);

function linesOf(each: Measured): string[][] {
  const { level, base, callers } = each;
  const line = (of: Level, words: string, who: string, side: Side, ratios: string[]): string[] => [
    of.store,
    power(of.rows),
    words,
    who,
    ...beside(timesOf(side), ratios),
    side.loggedPerKey === undefined ? "" : side.loggedPerKey.toFixed(0),
  ];
  const kinds: readonly (readonly [string, Sides | undefined, string])[] = [
    ["1", each.alone, ""],
    [String(callers), each.crowd, ""],
    [String(callers), each.swept?.sides, ", while swept"],
  ];
  return kinds.flatMap(([who, sides, more]) =>
    sides === undefined
      ? []
      : [
          line(base, wordsFor[base.shape], who, sides.base, []),
          line(level, wordsFor[level.shape] + more, who, sides.own, ratiosOf(sides)),
        ],
  );
}

const verbTitles = verbs.flatMap((verb) => [`${verb} p50 / p99 ms`, "ratio"]);
const timeTitles = ["Store", "Records", "Keys", "Callers", ...verbTitles, "Log B/key"];

const perKey = (value: number | undefined, { rows }: Level): string =>
  value === undefined ? "" : (value / rows).toFixed(0);

const sizeColumns: readonly (readonly [string, (measured: Measured) => string])[] = [
  ["Store", ({ level }) => level.store],
  ["Records", ({ level }) => power(level.rows)],
  ["Keys", ({ level }) => wordsFor[level.shape]],
  ["B/key", ({ level, bytes }) => perKey(bytes.own.all, level)],
  ["of 10^4", ({ base, bytes }) => perKey(bytes.base.all, base)],
  ["Index B/key", ({ level, bytes }) => perKey(bytes.own.indexes, level)],
  ["of 10^4", ({ base, bytes }) => perKey(bytes.base.indexes, base)],
  ["Sweep of 1000, ms / of 10^4", ({ sweep }) => (sweep ? `${ms(sweep.ownMs)} / ${ms(sweep.baseMs)}` : "")],
  ["ratio", ({ sweep }) => (sweep ? ratio(sweep.ownMs, sweep.baseMs) : "")],
  ["Swept rows/s", ({ swept }) => swept?.rowsPerSecond.toFixed(0) ?? ""],
  ["Load", ({ load }) => load.map((each) => each.toFixed(1)).join(", ")],
  ["When", ({ date }) => date],
];

export function tablesOf(measured: readonly Measured[]): string {
  return [
    tableOfCells([timeTitles, ...measured.flatMap(linesOf)]),
    "",
    tableOfCells([
      sizeColumns.map(([title]) => title),
      ...measured.map((each) => sizeColumns.map(([, of]) => of(each))),
    ]),
    "",
    "Ratios are those of p50 / p99 to the line above: the level of 10^4 records in turns of the same seconds.",
    "Log: what the server wrote to its log per new key and its answer. B/key: table and indexes as filled.",
  ].join("\n");
}
