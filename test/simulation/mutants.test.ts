import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { hunt } from "../../simulation/mutants/hunt.ts";
import { mutants } from "../../simulation/mutants/list.ts";
import { partOf, root } from "../../simulation/mutants/mutant.ts";
import { rowsIn, tablePath } from "../../simulation/mutants/table.ts";

const timeout = 1_800_000;
const rows = rowsIn(readFileSync(join(root, tablePath), "utf8"));
const seedsMax = 20_000;

test("every row of the page is a rule that is undone now, and was missed within 20,000 seeds", () => {
  const listed = mutants.map((mutant) => `${partOf(mutant)}: ${mutant.name}`);
  const stale = rows.filter(({ part, name }) => !listed.includes(`${part}: ${name}`));
  expect(stale).toEqual([]);
  expect(rows.filter(({ seeds }) => seeds > seedsMax)).toEqual([]);
});

test("every rule that is undone has its row", () => {
  const shown = rows.map(({ part, name }) => `${part}: ${name}`);
  const missing = mutants.map((mutant) => `${partOf(mutant)}: ${mutant.name}`).filter((each) => !shown.includes(each));
  expect(missing).toEqual([]);
});

const parts = [...new Set(mutants.map(partOf))];

test.each(parts)(
  "the third of the rules of %s that is quickest to be missed is missed when undone",
  { timeout },
  async (part) => {
    const ofPart = mutants.filter((mutant) => partOf(mutant) === part);
    const known = rows.filter((row) => row.part === part).toSorted((one, other) => one.seeds - other.seeds);
    const third = new Set(known.slice(0, Math.ceil(ofPart.length / 3)).map(({ name }) => name));
    const quickest = ofPart.filter(({ name }) => third.has(name));
    expect(quickest.length).toBe(Math.ceil(ofPart.length / 3));
    const hunts = await hunt(quickest, { seeds: seedsMax, workers: 2 });
    expect(hunts.filter(({ found }) => found === undefined).map(({ mutant }) => mutant.name)).toEqual([]);
  },
);
