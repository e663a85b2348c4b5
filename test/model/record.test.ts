/** The record as a model, with every interleaving of its users and every product of its faults up to a bound. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWith } from "../support/services.ts";
import { limits, mutants, runs } from "./runs.ts";
import { buildVerifiers, mutantNames, type Verifiers } from "./spin.ts";

describeWith("spin", "the model of a record", () => {
  let verifiers: Verifiers;

  beforeAll(async () => {
    verifiers = await buildVerifiers();
  });
  afterAll(() => verifiers?.close());

  test.each(Object.values(runs).map((run) => [run.title, run] as const))("%s: every promise holds", async (_, run) => {
    expect(await verifiers.check(run)).toMatchObject({ holds: true, violation: undefined });
  });

  test.each(Object.entries(mutants))("the mutant %s is refuted", async (mutant, run) => {
    expect((await verifiers.check(run, mutant)).violation).toMatch(/assertion violated/);
  });

  test.each(limits.map((run) => [run.title, run] as const))("limit: %s", async (_, run) => {
    expect((await verifiers.check(run)).violation).toMatch(/assertion violated/);
  });

  test("no mutant that the models know is left out", () => {
    expect(Object.keys(mutants).toSorted()).toEqual(mutantNames());
  });
});
