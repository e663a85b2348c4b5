import "./browser-globals.ts";
import { expect, test } from "vitest";
import type { AskAnswer } from "../src/contract.ts";

const { happeningsOf } = await import("../src/screens/verdict-timeline.ts");
const { choose } = await import("../src/settings.ts");

const at = "2026-11-18T14:05:00.000Z";

test.each([
  ["en", "claimed for the first time", "left its outcome open"],
  ["ja", "初めて受け付けた", "結果は不明のまま"],
])("what the server says in English is said in the reader's language: %s", (lang, claimed, open) => {
  choose("lang", lang);
  const facts = { outcome: "executed", tookMs: 5, run: 1, leftOpen: true } as const;
  const timeline: AskAnswer["timeline"] = [
    { at, kind: "attempt", key: "A", text: "claimed for the first time" },
    { at, kind: "attempt", key: "B", text: "ran, left its outcome open", facts },
  ];
  const [first, second] = happeningsOf({ timeline } as unknown as AskAnswer);
  expect(first?.text).toBe(claimed);
  expect(second).toMatchObject({ tone: "warn", text: expect.stringContaining(open) as string });
});
