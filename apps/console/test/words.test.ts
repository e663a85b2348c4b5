import "./browser-globals.ts";
import { expect, test } from "vitest";
import type { AskAnswer } from "../src/contract.ts";

const { en } = await import("../src/i18n/en.ts");
const { ja } = await import("../src/i18n/ja.ts");

/** Every text by its place; functions are asked with numbers and names. */
function textsOf(words: unknown, place = ""): readonly (readonly [string, string])[] {
  if (typeof words === "string") return [[place, words]];
  if (typeof words === "function") {
    const said: unknown = (words as (...args: readonly unknown[]) => unknown)(2, 3, 4);
    return typeof said === "string" ? [[place, said]] : [];
  }
  if (typeof words !== "object" || words === null) return [];
  return Object.entries(words).flatMap(([name, value]) => textsOf(value, `${place}.${name}`));
}

/** Names and examples that are the same everywhere. */
const same =
  /^\.(screens\.(outbox|inbox)|settings\.(lang|zone\.utc)|filterNames\.\w+\.example|letterFilters\.\w+\.example|action|deadReason|understoodAs|keyboard\.list\.\d+\.0|overview\.exampleList\.\d+\.0|columns\.id)/;

const { says: _, nextSteps: __, ...plain } = en;
const { says: saysJa, nextSteps: nextJa, ...plainJa } = ja;

test("Japanese says everything in Japanese", () => {
  const english = new Map(textsOf(plain));
  const untranslated = textsOf(plainJa).filter(([place, text]) => text === english.get(place) && !same.test(place));
  expect(untranslated).toEqual([]);
  const foreign = textsOf(plainJa).filter(
    ([place, text]) => !/[\u3040-\u30ff\u4e00-\u9fff]/.test(text) && !same.test(place),
  );
  expect(foreign).toEqual([]);
});

test("every verdict has a sentence in Japanese, from the same facts", () => {
  const key = {
    state: "unknown",
    createdAt: "2026-11-18T14:05:00.000Z",
    runs: 2,
    replays: 3,
    providerIds: ["ch_1", "ch_2"],
  };
  for (const verdict of Object.keys(en.verdicts) as AskAnswer["verdict"][]) {
    const answer = { verdict, keys: [key] } as unknown as AskAnswer;
    expect(saysJa(answer), verdict).toMatch(/。$/);
    expect(nextJa(answer).length, verdict).toBe(en.nextSteps(answer).length);
  }
  expect(saysJa({ verdict: "one-effect", keys: [key] } as unknown as AskAnswer)).toContain("3 件");
});
