import { expect, test } from "vitest";
import { verdictMarkdown } from "./told-verdict.ts";
import type { Verdict } from "./why.ts";

test("texts of others stay texts in a ticket: no heading, link, picture or markup, and no cell ends early", () => {
  const hostile = "a\\|b\n\n# Heading\n[link](https://evil.example) ![p](https://evil.example/p.png) <b>x</b>";
  const verdict: Verdict = {
    v: 1,
    verdict: "not-known",
    severity: "warning",
    says: `charged (${hostile})`,
    confidence: "low",
    understood: [],
    keys: [],
    timeline: [{ atMs: 0, kind: "operator", key: "A", text: `hold by ann: ${hostile}` }],
    next: ["npx ichido keys settle <key> adopt"],
    missing: [hostile],
  };
  const text = verdictMarkdown(verdict, { reveal: false });
  expect(text.split("\n")).toHaveLength(8);
  expect(text).not.toMatch(/^# /m);
  expect(text).not.toMatch(/(?<!\\)[[<!]/);
  const row = text.split("\n").find((line) => line.includes("hold by ann")) ?? "";
  expect(row.match(/(?<!\\)(?:\\\\)*\|/g)).toHaveLength(4);
});
