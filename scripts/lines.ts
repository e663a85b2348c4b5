/**
 * `npm run lines`: lines of code of the package by room, without tests, blank lines, comments and generated files. A comment
 * has its line to itself here, so that no parser is needed.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const source = "packages/ichido/src/";
const comment: Readonly<Record<string, RegExp>> = { ts: /^(?:\/\/|\/\*|\*)/, sql: /^--/, lua: /^--/ };

function linesIn(file: string, kind: string): number {
  const lines = readFileSync(join(root, file), "utf8").split("\n");
  return lines.map((line) => line.trim()).filter((line) => line !== "" && comment[kind]?.test(line) !== true).length;
}

const files = execFileSync("git", ["ls-files", source], { cwd: root, encoding: "utf8" }).trim().split("\n");
const rooms = new Map<string, Map<string, number>>();
const totals = new Map<string, number>();
for (const file of files) {
  const kind = /\.(ts|sql|lua)$/.exec(file)?.[1];
  if (kind === undefined || /\.(?:test|generated)\.ts$/.test(file)) continue;
  const room = /^(?:(?:stores|core)\/)?[^/]+/.exec(file.slice(source.length))?.[0] ?? "";
  const counted = linesIn(file, kind);
  const ofRoom = rooms.get(room) ?? new Map<string, number>();
  rooms.set(room, ofRoom.set(kind, (ofRoom.get(kind) ?? 0) + counted));
  totals.set(kind, (totals.get(kind) ?? 0) + counted);
}

function row(name: string, counts: ReadonlyMap<string, number>): string {
  const columns = Object.keys(comment).map((kind) => String(counts.get(kind) ?? 0).padStart(7));
  return `${name.padEnd(18)}${columns.join("")}`;
}

console.log(
  `${"room".padEnd(18)}${Object.keys(comment)
    .map((kind) => kind.padStart(7))
    .join("")}`,
);
for (const room of [...rooms.keys()].toSorted()) console.log(row(room, rooms.get(room) ?? new Map()));
console.log(row("all", totals));
