import { expect, test } from "vitest";
import { withRow } from "../../simulation/summary.ts";

const page = "| Part | Commit | Seeds | Violations | On average a seed |\n|---|---|---|---:|---|\n";
const run = { part: "engine", commit: "abc", from: 100, played: { seeds: 50, totals: { faults: 100 }, found: [] } };

test("a run is a row, and one with the run that ended where it begins", () => {
  const one = withRow(page, run);
  expect(one).toBe(`${page}| engine | abc | 100 to 149 | 0 | faults 2.0 |\n`);
  const found = [
    { invariant: "effect-twice", first: 170, times: 2 },
    { invariant: "stuck", first: 180, times: 1 },
  ];
  const next = { ...run, from: 150, played: { seeds: 150, totals: { faults: 900 }, found } };
  expect(withRow(one, next)).toBe(`${page}| engine | abc | 100 to 299 | 3 | faults 5.0 |\n`);
});

test("a run of another part or commit, or further on, is a row of its own", () => {
  const one = withRow(page, run);
  for (const other of [{ part: "events" }, { commit: "abd" }, { from: 151 }]) {
    const row = { ...run, from: 150, ...other };
    const range = `${row.from} to ${row.from + 49}`;
    expect(withRow(one, row)).toBe(`${one}| ${row.part} | ${row.commit} | ${range} | 0 | faults 2.0 |\n`);
  }
});
