/** Rules against hostile input, each undone once: the inputs of its kind must notice. */
import { afterAll, describe, expect, test } from "vitest";
import { describeWith } from "../support/services.ts";
import { fuzzMutants, huntingGround, type FuzzMutant } from "./mutants.ts";
import { targets } from "./targets.ts";

const timeout = 300_000;
let ground: ReturnType<typeof huntingGround> | undefined;

afterAll(() => ground?.close());

function hunted(mutant: FuzzMutant): void {
  test(`${mutant.name}: noticed by ${mutant.target} within ${mutant.within} inputs`, { timeout }, async () => {
    ground ??= huntingGround();
    const { found, trouble } = await ground.hunt(mutant);
    expect(found, trouble).toBeDefined();
    // Broken, and not something of the copy that cannot be loaded.
    expect(found?.detail).not.toMatch(/^threw SyntaxError/);
  });
}

describe("a rule that is undone", () => {
  for (const mutant of fuzzMutants) if (mutant.needs === undefined) hunted(mutant);
});
for (const mutant of fuzzMutants) {
  if (mutant.needs !== undefined) describeWith(mutant.needs, "a rule that is undone in a store", () => hunted(mutant));
}

test("every rule is undone under a name of its own, by a kind that there is", () => {
  expect(new Set(fuzzMutants.map(({ name }) => name)).size).toBe(fuzzMutants.length);
  const names = targets.map(({ name }) => name);
  expect(fuzzMutants.filter(({ target }) => !names.includes(target))).toEqual([]);
  for (const { target, within } of fuzzMutants) {
    expect(within).toBeLessThanOrEqual(targets.find(({ name }) => name === target)?.inputs ?? 0);
  }
});
