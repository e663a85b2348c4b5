import { describe, expect, test } from "vitest";
import { read, trackedFiles } from "../repo/tracked.ts";

const columnsMax = 120;
/** Nothing but one address, or one link: it cannot be broken. */
const linkAlone = /^\s*([-*] )?(\[[^\]]*\](\([^)\s]*\)|: \S+)|<?https?:\S+)[.,;:]?$/;

/** `path:line` of every line of prose that is too long. Tables and fences cannot be broken either. */
function tooLong(path: string, text: string): readonly string[] {
  let fence = "";
  return text.split("\n").flatMap((line, index) => {
    const [marks = ""] = /^\s*(`{3,}|~{3,})/.exec(line)?.slice(1) ?? [];
    if (marks !== "" && (fence === "" || marks.startsWith(fence))) {
      fence = fence === "" ? marks : "";
      return [];
    }
    const isProse = fence === "" && !/^\s*\|/.test(line) && !linkAlone.test(line);
    return isProse && line.length > columnsMax ? [`${path}:${index + 1}`] : [];
  });
}

describe("pages", () => {
  test("have lines that fit beside a second page", () => {
    const pages = trackedFiles().filter((path) => path.endsWith(".md"));
    expect(pages.flatMap((path) => tooLong(path, read(path)))).toEqual([]);
  });

  test("may be long where a line cannot be broken, and nowhere else", () => {
    const long = "word ".repeat(30).trimEnd();
    const address = `https://example.com/${"a".repeat(columnsMax)}`;
    const kept = [`| ${long} |`, "```", long, "```", `- [a name](${address})`, address, `[a]: ${address}`];
    expect(tooLong("page", kept.join("\n"))).toEqual([]);
    expect(tooLong("page", [...kept, long, `- ${long}`, `see ${address}`].join("\n"))).toEqual([
      "page:8",
      "page:9",
      "page:10",
    ]);
  });
});
