/** The page on the console's API and the head of its contract name every route, with what it needs. */
import { expect, test } from "vitest";
import { routes } from "../../packages/ichido/src/console/routes.ts";
import { read } from "../repo/tracked.ts";

const told = [
  ["the page", "docs/reference/console-api.md", /^\| (GET|POST) ([^|]+) \| ([^|]+) \|/gm],
  ["the contract", "packages/ichido/src/console/contract.ts", /^ \* \| (GET|POST) ([^|]+) \| ([^|]+) \|/gm],
] as const;

test.each(told)("%s has every route, and no other", (_name, path, row) => {
  const listed = [...read(path).matchAll(row)].flatMap(([, method = "", paths = "", needs = ""]) =>
    paths.split(", ").map((each) => `${method} ${each} ${needs}`),
  );
  const wanted = routes.map(({ method, path: each, needs }) => `${method} ${each} ${needs ?? "to be let in"}`);
  expect(listed.toSorted()).toEqual(wanted.toSorted());
});
