import { basename, dirname } from "node:path";
import { describe, expect, test } from "vitest";
import { read, trackedFiles } from "./tracked.ts";

/** How a line begins that opens a part; scripts of Redis have names of their own for the same. */
const parts = {
  parameters: /^(Parameters:|KEYS\[1\]|ARGV) /,
  rows: /^(Rows:|Result:?) /,
  guarantee: /^(Guarantee: |Guarantees? S\d|Promise )/,
} as const;

/** Parts of statements (`rule-*`) are no statements, and migrations are never edited once they ran. */
const statements = trackedFiles()
  .filter((path) => /\.(sql|lua)$/.test(path) && ["sql", "lua"].includes(basename(dirname(path))))
  .filter((path) => !basename(path).startsWith("rule-"));

function headerOf(path: string): readonly string[] {
  const lines = read(path).split("\n");
  const end = lines.findIndex((line) => !line.startsWith("--"));
  return lines.slice(0, end).map((line) => `${line.slice(2).trim()} `);
}

/** What a header lacks, or has in another order than the parts are told in. */
function faultsOf(path: string): readonly string[] {
  const header = headerOf(path);
  const places = Object.entries(parts).map(([name, opening]) => ({
    name,
    place: header.findIndex((line) => opening.test(line)),
  }));
  const missing = places.filter(({ place }) => place === -1).map(({ name }) => `${path}: no ${name}`);
  const isOrdered = places.every(({ place }, index) => index === 0 || place > (places[index - 1]?.place ?? 0));
  const purpose = header.length > 0 && (places[0]?.place ?? 0) !== 0 ? [] : [`${path}: no purpose`];
  return [...purpose, ...missing, ...(missing.length === 0 && !isOrdered ? [`${path}: parts out of order`] : [])];
}

describe("statements", () => {
  test("are found", () => {
    expect(statements.length).toBeGreaterThan(200);
  });

  test("open with purpose, parameters, rows and guarantee", () => {
    expect(statements.flatMap(faultsOf)).toEqual([]);
  });
});
