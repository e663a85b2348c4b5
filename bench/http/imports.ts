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

/** From the start of the process. */
function importMs(source: string): number {
  const args = ["--input-type=module", "--eval", `${source} process.stdout.write(String(performance.now()))`];
  const env = { ...process.env, NODE_OPTIONS: "" };
  return Number(execFileSync(process.execPath, args, { cwd: import.meta.dirname, encoding: "utf8", env }));
}

export async function measureImports(): Promise<void> {
  if (!existsSync(new URL("../../packages/ichido/dist/index.js", import.meta.url)))
    throw new UsageError("the package is not compiled; `npm run build` does it");
  console.log(described(surroundings()));
  const seen = programs.map(() => [] as number[]);
  for (let time = 0; time < times; time += 1)
    programs.forEach(([, source], which) => seen[which]?.push(importMs(source)));
  const empty = median(seen[0] ?? []);
  programs.slice(1).forEach(([name], which) => {
    const all = (seen[which + 1] ?? []).map((ms) => ms - empty);
    const text = [median(all), Math.min(...all), Math.max(...all)].map((ms) => ms.toFixed(1));
    console.log(`${name}: ${text[0]} ms over an empty module, median of ${times} (${text[1]}–${text[2]})`);
  });
}
