/** The page that tells how many seeds were played on which commit: a row for each part and range. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { averagesOf, type Played } from "./workers.ts";

const head = `# Seeds that were played

Written by \`npm run simulate -- --seeds N --workers M --summary docs/reference/simulation.md\`: a row for each run, and
one for runs that follow each other on one commit. What a seed is, and what is judged, is told in
[simulation/README.md](../../simulation/README.md).

| Part | Commit | Seeds | Violations | On average a seed |
|---|---|---|---:|---|
`;

/** What one row tells. */
export interface Row {
  readonly part: string;
  readonly commit: string;
  readonly from: number;
  readonly played: Played;
}

const violationsOf = ({ found }: Played): number => found.reduce((sum, { times }) => sum + times, 0);

function textOf({ part, commit, from, played }: Row, violations: number): string {
  const range = `${from} to ${from + played.seeds - 1}`;
  return `| ${part} | ${commit} | ${range} | ${violations} | ${averagesOf(played)} |`;
}

/** `storeCalls 97.3, faults 32.1` of so many seeds, as totals again: exact to a tenth of a seed's. */
function totalsOf(averages: string, seeds: number): Readonly<Record<string, number>> {
  const pairs = averages.split(", ").map((pair) => pair.split(" "));
  return Object.fromEntries(pairs.map(([name = "", value]) => [name, Number(value) * seeds]));
}

/** The page with the row; a row of the same part and commit that ends where this one begins becomes one with it. */
export function withRow(page: string, row: Row): string {
  const lines = page.trimEnd().split("\n");
  const { part, commit, from, played } = row;
  const before = lines.findIndex((line) => {
    const cells = line.split(" | ");
    return cells[0] === `| ${part}` && cells[1] === commit && cells[2]?.endsWith(` to ${from - 1}`);
  });
  if (before < 0) return `${[...lines, textOf(row, violationsOf(played))].join("\n")}\n`;
  const [, , range = "", violations, averages = ""] = (lines[before] ?? "").replace(/ \|$/, "").split(" | ");
  const first = Number(range.split(" ")[0]);
  const seeds = from - first;
  const totals = { ...totalsOf(averages, seeds) };
  for (const [name, value] of Object.entries(played.totals)) totals[name] = (totals[name] ?? 0) + value;
  const joined = { ...row, from: first, played: { seeds: seeds + played.seeds, totals, found: [] } };
  lines[before] = textOf(joined, Number(violations) + violationsOf(played));
  return `${lines.join("\n")}\n`;
}

function commitNow(): string {
  const git = (...args: readonly string[]): string => execFileSync("git", args, { encoding: "utf8" }).trim();
  const isChanged = git("status", "--porcelain", "--", "packages", "simulation") !== "";
  return `${git("rev-parse", "--short=10", "HEAD")}${isChanged ? " with changes" : ""}`;
}

/** Taken before the first seed: the source may be worked on while they are played. */
export function summaryOf(path: string, part: string, from: number): (played: Played) => void {
  const commit = commitNow();
  return (played) => {
    const page = existsSync(path) ? readFileSync(path, "utf8") : head;
    writeFileSync(path, withRow(page, { part, commit, from, played }));
  };
}
