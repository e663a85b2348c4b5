/** What can be imported or set is named in a page. */
import { expect, test } from "vitest";
import "reflect-metadata";
import { read, trackedFiles } from "../repo/tracked.ts";

const pages = trackedFiles().filter((path) => /^(README\.md|docs\/(guide|reference)\/.*\.md)$/.test(path));
/** Pages that list what was tried do not explain it. */
const text = pages
  .filter((path) => !/(regressions|proof-mutants)\.md$/.test(path))
  .map(read)
  .join("\n");

const { exports } = JSON.parse(read("packages/ichido/package.json")) as {
  readonly exports: Readonly<Record<string, unknown>>;
};
const subpaths = Object.keys(exports).filter((path) => path !== "./package.json");

test.each(subpaths)("every export of %s is named in the documentation", async (path) => {
  const names = Object.keys((await import(`ichido${path.slice(1)}`)) as object);
  expect(names.length).toBeGreaterThan(0);
  expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(text))).toEqual([]);
});

test.each([
  ["MemoryStoreOptions", "stores/memory/options.ts"],
  ["SqliteStoreOptions", "stores/sqlite/options.ts"],
  ["OpenSqliteStoreOptions", "stores/sqlite/open.ts"],
  ["PostgresStoreOptions", "stores/postgres/options.ts"],
  ["MysqlStoreOptions", "stores/mysql/options.ts"],
  ["RedisStoreOptions", "stores/redis/options.ts"],
])("every option of %s is in store-options.md", (name, path) => {
  const source = read(`packages/ichido/src/${path}`);
  const [, body = ""] = new RegExp(`interface ${name}\\b[^{]*\\{\\n([^]*?)\\n\\}`).exec(source) ?? [];
  const options = [...body.matchAll(/^ {2}readonly (\w+)\??:/gm)].map((match) => match[1] ?? "");
  expect(options.length).toBeGreaterThan(0);
  const page = read("docs/reference/store-options.md");
  expect(options.filter((option) => !page.includes(`\`${option}\``))).toEqual([]);
});
