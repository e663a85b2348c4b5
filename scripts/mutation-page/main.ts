/**
 * `npm run proof:mutation-page -- ROOM=RESULTS …`: the list of survivors, and the tables of the page about mutation testing,
 * which it prints, from the result lines of runs. Of a mutant that was tried more than once the last line counts, so that a
 * run of a few files may follow one of all.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import type { ResultLine } from "../../test/mutation/result-lines.ts";
import { reasonOf, reasons, type Reason, type Survivor } from "./reasons.ts";

const listPath = "docs/reference/mutation-survivors.md";
const namedMax = 8;
const cellLength = 72;

type Tried = Exclude<ResultLine["status"], "Ignored">;

const isNoticed = (status: Tried): boolean => status === "Killed" || status === "Timeout";

/** From old to new. */
function resultsOf(paths: readonly string[]): ResultLine[] {
  const last = new Map<string, ResultLine>();
  for (const path of paths) {
    for (const text of readFileSync(path, "utf8").split("\n").filter(Boolean)) {
      const line = JSON.parse(text) as ResultLine;
      const { fileName, location, mutatorName, replacement } = line;
      const name = JSON.stringify([fileName, location, mutatorName, replacement]);
      // What a later run left out was tried before.
      if (line.status !== "Ignored" || !last.has(name)) last.set(name, line);
    }
  }
  return [...last.values()];
}

const sources = new Map<string, readonly string[]>();

function survivorOf({ fileName, location, mutatorName, replacement, status }: ResultLine): Survivor {
  const lines = sources.get(fileName) ?? readFileSync(fileName, "utf8").split("\n");
  sources.set(fileName, lines);
  const { start, end } = location;
  const wholeLine = lines[start.line - 1] ?? "";
  const isOneLine = start.line === end.line;
  return {
    file: basename(fileName),
    line: start.line,
    source: isOneLine ? wholeLine.slice(start.column - 1, end.column - 1) : `${wholeLine.slice(start.column - 1)}…`,
    replacement: replacement ?? "",
    mutator: mutatorName,
    wholeLine,
    isReached: status !== "NoCoverage",
  };
}

function cell(text: string): string {
  // What looks like a link is none.
  const flat = text.replaceAll(/\s+/g, " ").replaceAll("`", "'").replaceAll("](", "] (");
  const cut = flat.length > cellLength ? `${flat.slice(0, cellLength - 2)}…` : flat;
  return `\` ${cut.replaceAll("|", String.raw`\|`)} \``;
}

const share = (noticed: number, all: number): string => `${((100 * noticed) / Math.max(1, all)).toFixed(2)} %`;
const row = (...cells: readonly (string | number)[]): string => `| ${cells.join(" | ")} |`;
const inOrder = (one: Survivor, other: Survivor): number => one.file.localeCompare(other.file) || one.line - other.line;

function filesOf(results: readonly ResultLine[]): string {
  const tried = results.filter(({ status }) => status !== "Ignored");
  const rows = [...Map.groupBy(tried, ({ fileName }) => basename(fileName))]
    .toSorted(([one], [other]) => one.localeCompare(other))
    .map(([file, of]) => {
      const noticed = of.filter(({ status }) => isNoticed(status as Tried)).length;
      return row(`\`${file}\``, of.length, noticed, share(noticed, of.length));
    });
  return [row("File", "Mutants", "Noticed", "Score"), "|---|---:|---:|---:|", ...rows].join("\n");
}

function reasonsOf(survivors: readonly Survivor[]): string {
  const byReason = Map.groupBy(survivors, reasonOf);
  const names = Object.keys(reasons) as Reason[];
  const rows = names.flatMap((name) => {
    const of = byReason.get(name) ?? [];
    if (of.length === 0) return [];
    const files = [...Map.groupBy(of, ({ file }) => file)].toSorted(([, one], [, other]) => other.length - one.length);
    const where = files.slice(0, namedMax).map(([file, each]) => `\`${file}\` ${each.length}`);
    return [row(reasons[name], of.length, where.join(", ") + (files.length > namedMax ? " and others" : ""))];
  });
  return [row("Reason", "Mutants", "Where"), "|---|---:|---|", ...rows].join("\n");
}

const list: string[] = [
  "# Mutants that no test notices",
  "",
  "Line by line, as [mutation testing](mutation.md) found them: what stands there, what stood there instead, and the group",
  "of its reason on that page.",
];
const rooms = Map.groupBy(process.argv.slice(2), (argument) => argument.split("=")[0] ?? "");
for (const [room, given] of rooms) {
  const results = resultsOf(given.map((argument) => argument.slice(room.length + 1)));
  const tried = results.filter(({ status }) => status !== "Ignored");
  const noticed = tried.filter(({ status }) => isNoticed(status as Tried)).length;
  const endless = tried.filter(({ status }) => status === "Timeout").length;
  const survivors = tried
    .filter(({ status }) => !isNoticed(status as Tried))
    .map(survivorOf)
    .toSorted(inOrder);
  const figures = `${results.length} mutants, ${tried.length} tried, ${noticed} noticed (${endless} by never ending)`;
  console.log(`## ${room}\n\n${figures}: ${share(noticed, tried.length)}; ${survivors.length} survive\n`);
  console.log(`${filesOf(results)}\n\n${reasonsOf(survivors)}\n`);
  const rows = survivors.map((each) =>
    row(`\`${each.file}\` ${each.line}`, cell(each.source), cell(each.replacement), reasonOf(each)),
  );
  list.push(
    "",
    `## The ${room.replace("-", " ")}`,
    "",
    row("Where", "Source", "Changed to", "Reason"),
    "|---|---|---|---|",
  );
  list.push(...rows);
}
writeFileSync(listPath, `${list.join("\n")}\n`);
