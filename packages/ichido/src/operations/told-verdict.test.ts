import { expect, test } from "vitest";
import { verdictText } from "./sentence.ts";
import { verdictJson, verdictMarkdown } from "./told-verdict.ts";
import type { KeyReport, Verdict } from "./why.ts";

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

test("no text of a verdict has a key in clear, however it was brought in", () => {
  const keys = ["nine-long", "nine-long-and-longer", "$&-key-of-a-caller"].map((key, at): KeyReport => ({
    name: "ABC".charAt(at),
    key,
    scopeHash: new Uint8Array(32),
    operation: "payment.create",
    state: "completed",
    status: 201,
    createdAtMs: 0,
    runs: 1,
    vanished: 0,
    replays: 0,
    labels: { order: key },
    resources: [`order:${key}`],
    effects: { count: 1, by: "provider", problem: `no ${key}` },
    providerIds: [`ch_${key}`],
  }));
  const quoted = keys.map(({ key }) => key).join(" ");
  const verdict: Verdict = {
    v: 1,
    verdict: "two-keys-one-intent",
    severity: "page",
    says: `charged (${quoted})`,
    confidence: "low",
    understood: [],
    keys,
    timeline: [{ atMs: 0, kind: "operator", key: "A", text: `hold by ann: ${quoted}`, facts: { effect: quoted } }],
    next: [`refund ${quoted}`],
    missing: [quoted],
  };
  const json = JSON.stringify(verdictJson(verdict, { reveal: false, nameOf: () => "@id" }));
  for (const text of [verdictText(verdict), json, verdictMarkdown(verdict, { reveal: false })]) {
    for (const { key } of keys) expect(text).not.toContain(key);
    expect(text).not.toContain("and-longer");
  }
  expect(verdictText(verdict, (key) => `<${key}>`)).toContain("hold by ann: <nine-long> <nine-long-and-longer>");
});
