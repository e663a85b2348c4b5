/** The page that tells how many seeds were played on which commit: a row for each run. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { averagesOf, type Played } from "./workers.ts";

const head = `# Seeds that were played

Written by \`npm run simulate -- --seeds N --workers M --summary docs/reference/simulation.md\`: a row for each run. What a
seed is, and what is judged, is told in [simulation/README.md](../../simulation/README.md).

| Part | Commit | Seeds | Violations | On average a seed |
|---|---|---|---:|---|
`;

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
    const violations = played.found.reduce((sum, { times }) => sum + times, 0);
    const range = `${from} to ${from + played.seeds - 1}`;
    writeFileSync(path, `${page}| ${part} | ${commit} | ${range} | ${violations} | ${averagesOf(played)} |\n`);
  };
}
