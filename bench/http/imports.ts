/**
 * How long a process takes to import ichido with its Express adapter and SQLite store, over an empty module, beside
 * Express. What is imported is what users get: the compiled package.
 */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { median } from "../measure.ts";
import { UsageError } from "./options.ts";
import { described, surroundings } from "./surroundings.ts";

const times = 20;
const programs = [
  ["an empty module", ""],
  ["express", 'import "express";'],
  ["ichido, ichido/express, ichido/sqlite", 'import "ichido"; import "ichido/express"; import "ichido/sqlite";'],
] as const;

/** From the start of the process. Processor time, because other programs of a busy machine disturb it less. */
interface Import {
  readonly wallMs: number;
  readonly processorMs: number;
}

function importOnce(source: string): Import {
  const report = `const { user, system } = process.cpuUsage();
    console.log(JSON.stringify({ wallMs: performance.now(), processorMs: (user + system) / 1000 }));`;
  const args = ["--input-type=module", "--eval", `${source} ${report}`];
  const env = { ...process.env, NODE_OPTIONS: "" };
  return JSON.parse(
    execFileSync(process.execPath, args, { cwd: import.meta.dirname, encoding: "utf8", env }),
  ) as Import;
}

/** What a program took over an empty one. */
function over(empty: readonly number[], all: readonly number[]): string {
  const [middle, least, most] = [median(all), Math.min(...all), Math.max(...all)].map((ms) =>
    (ms - median(empty)).toFixed(1),
  );
  return `${middle} ms (${least}–${most})`;
}

export async function measureImports(): Promise<void> {
  if (!existsSync(new URL("../../packages/ichido/dist/index.js", import.meta.url)))
    throw new UsageError("the package is not compiled; `npm run build` does it");
  console.log(described(surroundings()));
  const seen = programs.map(() => [] as Import[]);
  for (let time = 0; time < times; time += 1)
    programs.forEach(([, source], which) => seen[which]?.push(importOnce(source)));
  console.log(`over an empty module, median of ${times}:`);
  const [empty = [], ...others] = seen;
  others.forEach((all, which) => {
    const wall = over(
      empty.map((each) => each.wallMs),
      all.map((each) => each.wallMs),
    );
    const processor = over(
      empty.map((each) => each.processorMs),
      all.map((each) => each.processorMs),
    );
    console.log(`${programs[which + 1]?.[0]}: ${wall}, of the processor ${processor}`);
  });
}
