/** The package's public names, in a committed list: a name that changes is a decision, seen in the diff. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import "reflect-metadata";
import { expect, test } from "vitest";
import { exportsOfPackage } from "./exported-names.ts";
import { read, root } from "./tracked.ts";

const list = "test/repo/exported-names.txt";
const modules = exportsOfPackage();

/** A line for each name, so that a diff shows which one came or went. */
function listed(): string {
  const parts = [...modules].map(([path, { source, names }]) =>
    [`ichido${path.slice(1)} (${source})`, ...[...names.keys()].toSorted().map((name) => `  ${name}`)].join("\n"),
  );
  return `${parts.join("\n\n")}\n`;
}

test("the exported names of every subpath are those on the list", () => {
  const found = listed();
  if (process.env["UPDATE_GOLDEN"] === "1") writeFileSync(join(root, list), found);
  const advice =
    `the public names are others than those in ${list}. If that is meant, write the list anew with ` +
    "UPDATE_GOLDEN=1 npm test -- test/repo/exported-names.test.ts, and name the change in CHANGELOG.md";
  expect(found, advice).toBe(read(list));
});

test.each([...modules])("what ichido%s gives when it is loaded is on the list", async (path, { names }) => {
  const loaded = Object.keys((await import(`ichido${path.slice(1)}`)) as object);
  expect(loaded.filter((name) => !names.has(name))).toEqual([]);
});

/** The same thing for each framework, so that a guide holds for all of them. */
const perFramework = ["captureBody", "idempotency", "idempotent"];

test("a name means one thing, whichever subpath it comes from", () => {
  const origins = Map.groupBy(
    [...modules.values()].flatMap(({ names }) => [...names]),
    ([name]) => name,
  );
  const clashes = [...origins].flatMap(([name, found]) => {
    const places = [...new Set(found.map(([, origin]) => origin))];
    return places.length > 1 && !perFramework.includes(name) ? [`${name}: ${places.join(", ")}`] : [];
  });
  expect(clashes).toEqual([]);
});

test("types and code of a subpath are what is built from its source", () => {
  const { exports } = JSON.parse(read("packages/ichido/package.json")) as { exports: Record<string, unknown> };
  const wrong = [...modules].filter(([path, { source }]) => {
    const built = source.replace(/^\.\/src\//, "./dist/").replace(/\.ts$/, "");
    const expected = { "ichido-source": source, types: `${built}.d.ts`, default: `${built}.js` };
    return JSON.stringify(exports[path]) !== JSON.stringify(expected);
  });
  expect(wrong.map(([path]) => path)).toEqual([]);
});
