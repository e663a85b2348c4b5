import { expect, test } from "vitest";
import { read, trackedFiles } from "../repo/tracked.ts";

test("rows of tables stand under their heads: an empty line makes text of those after it", () => {
  const broken = trackedFiles()
    .filter((path) => path.endsWith(".md"))
    .flatMap((path) => {
      const lines = read(path)
        .replace(/^\s*```[^]*?^\s*```/gm, (fence) => fence.replace(/[^\n]/g, ""))
        .split("\n");
      const isRow = (line = ""): boolean => line.trimStart().startsWith("|");
      return lines.flatMap((line, at) =>
        isRow(line) && !isRow(lines[at - 1]) && !/^\s*\|[\s:|-]+\|\s*$/.test(lines[at + 1] ?? "")
          ? [`${path}:${at + 1}`]
          : [],
      );
    });
  expect(broken).toEqual([]);
});
