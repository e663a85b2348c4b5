/** The page docs/reference/proof.md, written from the data alone. */
import type { Reading, Untold } from "./readings.ts";
import { kinds, type Kind } from "./run.ts";

const head = `# What was tried to break the promises

Written by \`npm run proof:report\` from the files in [proof](proof) and the rows of
[seeds that were played](simulation.md); a test fails where they differ. What is promised, and on which condition, is on
the page of [guarantees](../guide/guarantees.md).

*Bound*: where a promise broke in none of n independent trials, it breaks in fewer than 3/n of them, at 95 %
confidence, under the same mix of faults and on like machines. It says nothing about faults that were not made. A model
visits all states within its bounds, and a crash matrix all points: there is nothing to estimate.

*Source* is the name of the content of \`packages/ichido/src\`: \`git rev-parse HEAD:packages/ichido/src\` tells yours, and
\`git cat-file -t NAME\` whether git knows another. A source or commit that git does not know is no part of this history,
as where commits were put together or written anew: what that run tried was an earlier state, which cannot be looked at
here. So is *earlier*: a run that tells no source.

Commands of chaos and soak are those that were given, but for \`--json\`; one whose arguments were not kept is not
guessed. A seed that the command does not name was drawn. The other commands try it again.

A run of chaos and soak must have seen what one of today must see: takeovers, fenced writers and so on, by name among
what is counted. Where a sight was not counted yet when a run was made, the run is listed below its table. A
*settlement* there is a decision of the reconciler or of the person, or a hold; which of them was not told.
`;

const about: Readonly<Record<Kind, string>> = {
  simulation: `Histories of the product's own code on a virtual clock and network; a seed is one of them, and repeats. What is
counted in rows of [seeds that were played](simulation.md), faults among them, is their average times the seeds.`,
  model: "All states of a record, its owners, a reconciler and a person, by Spin. Undone rules must be refuted.",
  chaos: `Server processes on a real store while everything goes wrong; each operation is asked for until it is answered.
\`npm run chaos\` has [options](../../chaos/README.md) for stores and times.`,
  "chaos of events": `Writers, relays and consumers on a real store and a real broker; each event must take effect once for each handler.
\`npm run chaos -- --part events\` has [options](../../chaos/README.md#events) for stores, brokers and times.`,
  soak: `The same as chaos for an hour or more, with the memory of the processes and the size of the store. \`npm run soak\`
has [options](../../chaos/README.md#soak) for stores and times.`,
  "crash matrix": "A process is killed, or frozen and overtaken, at every point that an operation passes.",
  "random kills": "Processes with many operations under way die at random.",
  storms: "Relays, consumers and brokers, or whole shops, are killed again and again.",
  fuzz: "Hostile input, drawn from numbers.",
  "rules undone": "The source with one rule taken out, on a copy: the checks must notice.",
};

const number = (value: number): string => value.toLocaleString("en");

/** The rule of three. */
export function boundOf({
  tried,
  violations,
  isExhaustive = false,
}: Pick<Reading, "tried" | "violations" | "isExhaustive">): string {
  if (isExhaustive) return violations === 0 ? "all" : "broken";
  if (violations > 0) return "broken";
  if (tried < 3) return "–";
  return `0 in ${number(tried)}: below ${((3 / tried) * 100).toPrecision(2)} %`;
}

const dayOf = (date: string): string => date.slice(0, 10);
const shortOf = (commit: string): string => commit.replace(/^([0-9a-f]{10})[0-9a-f]*/, "$1");

function rowOf(reading: Reading): string {
  const { what, tried, unit, faults, seeds, counts, violations, date, commit, source, file } = reading;
  const more = Object.entries(counts)
    .map(([name, count]) => `${name} ${number(count)}`)
    .join(", ");
  const cells = [
    `[${what}](${file})`,
    `${number(tried)} ${unit}`,
    faults === undefined ? "" : number(faults),
    more,
    seeds ?? "",
    String(violations),
    boundOf(reading),
    dayOf(date),
    `${shortOf(commit)}, ${source === undefined ? "earlier" : shortOf(source)}`,
  ];
  return `| ${cells.join(" | ")} |`;
}

const tableHead =
  "| What | Tried | Faults | Counted besides | Seeds | Violations | Bound | Day | Commit, source |\n|---|---:|---:|---|---|---:|---|---|---|";

/** A state of the source as far as it is known. */
const stateOf = ({ source, commit }: Reading): string => shortOf(source ?? commit);

/** Prose has at most 120 columns. */
const wrapped = (text: string): string => text.replaceAll(/(?=.{121})(.{1,120}) (?!%)/g, "$1\n");

/** What is not in the sum, said plainly. */
function leftOutOf({ what, tried, unit, violations, commit, mended }: Reading): string {
  const found = `${number(tried)} ${unit} with ${violations} violations`;
  return `\n${wrapped(`Not in the sum: ${what} at ${shortOf(commit)}, ${found}: ${mended}.`)}\n`;
}

function totalOf(all: readonly Reading[]): string {
  const leftOut = all.filter(({ mended }) => mended !== undefined);
  const readings = all.filter(({ mended }) => mended === undefined);
  const [first] = readings;
  const isOneUnit = readings.every(({ unit, isExhaustive }) => unit === first?.unit && isExhaustive !== true);
  if (first === undefined || readings.length < 2 || !isOneUnit) return leftOut.map(leftOutOf).join("");
  const tried = readings.reduce((sum, reading) => sum + reading.tried, 0);
  const faults = readings.reduce((sum, reading) => sum + (reading.faults ?? 0), 0);
  const violations = readings.reduce((sum, reading) => sum + reading.violations, 0);
  const states = new Set(readings.map(stateOf)).size;
  const withFaults = faults === 0 ? "" : ` under ${number(faults)} faults`;
  const overStates = states === 1 ? "" : ` on ${states} states of the source`;
  const bound = boundOf({ tried, violations });
  const sum = `Together ${number(tried)} ${first.unit}${withFaults}${overStates}, ${violations} violations; ${bound}.`;
  return `\n${wrapped(sum)}\n${leftOut.map(leftOutOf).join("")}`;
}

/** In a fence, and of which runs there is none. */
function commandsOf(readings: readonly Reading[]): string {
  const commands = [...new Set(readings.flatMap(({ command }) => command ?? []))];
  const without = readings.filter(({ command }) => command === undefined).map(({ what }) => what);
  const fence = commands.length === 0 ? [] : [`\`\`\`sh\n${commands.join("\n")}\n\`\`\``];
  const missing = without.length === 0 ? [] : [wrapped(`Command not kept: ${without.join(", ")}.`)];
  return [...fence, ...missing].join("\n\n");
}

function untoldOf(readings: readonly Reading[]): string {
  const each = readings.flatMap(({ what, untold = [] }) => untold.map((one) => ({ what, ...one })));
  const bySight = Map.groupBy(each, ({ sight }) => sight);
  const told = ({ what, counted }: Untold & { readonly what: string }): string =>
    counted === undefined ? what : `${what} (${counted})`;
  return [...bySight]
    .map(([sight, runs]) => `\n${wrapped(`Not told whether seen: ${sight} by ${runs.map(told).join(", ")}.`)}\n`)
    .join("");
}

function sectionOf(kind: Kind, readings: readonly Reading[]): string {
  return `
## ${kind[0]?.toUpperCase()}${kind.slice(1)}

${about[kind]}

${commandsOf(readings)}

${tableHead}
${readings.map(rowOf).join("\n")}
${totalOf(readings)}${untoldOf(readings)}`;
}

function controlsOf(readings: readonly Reading[]): string {
  if (readings.length === 0) return "";
  const rows = readings.map(
    ({ kind, what, control, tried, unit, violations, command, date }) =>
      `| ${control} | ${kind}: ${what} | ${number(tried)} ${unit} | ${number(violations)} | ${command === undefined ? "not kept" : `\`${command}\``} | ${dayOf(date)} |`,
  );
  return `
## Controls

What is not ichido, or is ichido without a rule, under the same faults and before the same judgement: it must fail.

| Control | Where | Tried | Violations | Command | Day |
|---|---|---:|---:|---|---|
${rows.join("\n")}
`;
}

export function pageOf(readings: readonly Reading[]): string {
  const proofs = readings.filter(({ control }) => control === undefined);
  const sections = kinds.flatMap((kind) => {
    const ofKind = proofs.filter((reading) => reading.kind === kind);
    return ofKind.length === 0 ? [] : [sectionOf(kind, ofKind)];
  });
  return `${head}${sections.join("")}${controlsOf(readings.filter(({ control }) => control !== undefined))}`;
}
