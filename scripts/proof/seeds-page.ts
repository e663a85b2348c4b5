/** The rows of docs/reference/simulation.md, which are written as seeds are played, as runs. */
import { execFileSync } from "node:child_process";
import type { Reading } from "./readings.ts";
import { emptyBy } from "./run.ts";

/** Rows with violations that are left out of the sum, by commit, and why. Any other one is a broken run. */
const mended: Readonly<Record<string, string>> = {
  fc64002bdb: "seeds 1000141298 and 1000179662, which were mended after it and are tests",
  "5532213e61": "seed 1400157735, which the watcher took for wrong and does not any more; it is a test",
  "6ee0642743": "seed 1100001713 and three of its kind, which were mended after it; the first is a test",
  b90e921004: "seed 81672 and one of its kind, which asked for a lease shorter than any may be; it is a test",
};

/** The source of a commit, where it is known. */
export type SourceOf = (commit: string) => string | undefined;

export const sourceByGit: SourceOf = (commit) => {
  const args = ["rev-parse", `${commit}:packages/ichido/src`];
  try {
    return execFileSync("git", args, {
      cwd: import.meta.dirname,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
  } catch {
    return undefined;
  }
};

/** As a page of before tells it, since commits get other names when they are moved. */
export const sourceByPage =
  (page: string): SourceOf =>
  (commit) =>
    new RegExp(`\\| ${commit}, ([0-9a-f]{10}) \\|`).exec(page)?.[1];

function readingOf(line: string, sourceOf: SourceOf): Reading | undefined {
  const cells = line.replace(/^\| /, "").replace(/ \|$/, "").split(" | ");
  const [part = "", commit = "", seeds = "", violations = "", averages = ""] = cells;
  const [, first, last] = /^(\d+) to (\d+)$/.exec(seeds) ?? [];
  if (first === undefined || last === undefined) return undefined;
  const tried = Number(last) - Number(first) + 1;
  const each = averages.split(", ").map((pair) => pair.split(" "));
  const totals = each.map(([name = "", value]) => [name, Math.round(Number(value) * tried)] as const);
  const { faults, ...counts } = Object.fromEntries(totals);
  const run = { kind: "simulation", tried, ...(faults === undefined ? {} : { faults }) } as const;
  // What was changed has no name.
  const source = /^[0-9a-f]+$/.test(commit) ? sourceOf(commit) : undefined;
  const found = Number(violations);
  const why = found > 0 ? mended[commit] : undefined;
  return {
    file: "simulation.md",
    ...run,
    what: part,
    command: `npm run simulate -- --part ${part} --seeds ${tried} --from ${first} --workers 2`,
    unit: "histories",
    seeds,
    counts,
    violations: found,
    vacuous: emptyBy(run),
    date: "",
    commit,
    ...(source === undefined ? {} : { source }),
    ...(why === undefined ? {} : { mended: why }),
  };
}

export function readSeeds(page: string, sourceOf: SourceOf): readonly Reading[] {
  const rows = page.split("\n").filter((line) => line.startsWith("| "));
  return rows.map((line) => readingOf(line, sourceOf)).filter((reading) => reading !== undefined);
}
