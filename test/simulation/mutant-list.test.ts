import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { mutants } from "../../simulation/mutants/list.ts";
import { placeOf, root } from "../../simulation/mutants/mutant.ts";

test("every rule that is undone stands in the source, exactly once", () => {
  const texts = new Map<string, string>();
  const textOf = (file: string): string => {
    const text = texts.get(file) ?? readFileSync(join(root, placeOf(file)), "utf8");
    texts.set(file, text);
    return text;
  };
  const wrong = mutants.flatMap(({ name, edits }) =>
    edits
      .map(({ file, find }) => ({ file, times: textOf(file).split(find).length - 1 }))
      .filter(({ times }) => times !== 1)
      .map(({ file, times }) => `${name}: ${file} has it ${times} times`),
  );
  expect(wrong).toEqual([]);
});

test("no two of them have the same name, and each changes something", () => {
  const names = mutants.map(({ name }) => name);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  const idle = mutants.filter(({ edits }) => edits.every(({ find, replace }) => find === replace));
  expect(idle.map(({ name }) => name)).toEqual([]);
});
