import "./browser-globals.ts";
import { expect, test } from "vitest";
import type { AskAnswer } from "../src/contract.ts";

const { en } = await import("../src/i18n/en.ts");
const { ja } = await import("../src/i18n/ja.ts");
const { verdictsIn } = await import("../src/intents.ts");

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

const { says: _, nextSteps: nextEn, ...plain } = en;
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

const key = {
  name: "A",
  state: "unknown",
  createdAt: "2026-11-18T14:05:00.000Z",
  runs: 2,
  vanished: 0,
  replays: 3,
  effects: { count: 1, by: "provider" },
  providerIds: ["ch_1"],
};

test("every verdict has a sentence in Japanese, from the same facts", () => {
  for (const verdict of Object.keys(en.verdicts) as AskAnswer["verdict"][]) {
    const intents = [{ verdict, keys: ["A"], refund: [] }];
    const answer = { verdict, keys: [key], intents } as unknown as AskAnswer;
    expect(saysJa(answer), verdict).toMatch(/。$/);
    expect(nextJa(answer, verdict).length, verdict).toBe(nextEn(answer, verdict).length);
  }
  const intents = [{ verdict: "one-effect", keys: ["A"], refund: [] }];
  expect(saysJa({ verdict: "one-effect", keys: [key], intents } as unknown as AskAnswer)).toContain("3 件");
});

test("only a run whose owner vanished is said to have vanished", () => {
  const onceIn = (vanished: number) => {
    const intents = [{ verdict: "one-effect", keys: ["A"], refund: [] }];
    return saysJa({ verdict: "one-effect", keys: [{ ...key, vanished }], intents } as unknown as AskAnswer);
  };
  expect(onceIn(0)).toContain("2 回目の試行で完了しました");
  expect(onceIn(1)).toContain("消えた試行が 1 回");
});

test("what is said of one intent, and given back of it, leaves an honest one of the same customer out", () => {
  const keys = ["A", "B", "C"].map((name, at) => ({ ...key, name, providerIds: [`ch_${at + 1}`] }));
  const verdict = "two-keys-one-intent";
  const answerOf = (refund: readonly string[]) =>
    ({
      verdict,
      keys,
      intents: [
        { verdict: "one-effect", keys: ["A"], refund: [] },
        { verdict, keys: ["B", "C"], refund },
      ],
    }) as unknown as AskAnswer;
  expect(saysJa(answerOf(["ch_3"]))).toContain("（ch_2、ch_3）");
  expect(nextEn(answerOf(["ch_3"]), verdict)[0]).toBe("Refund ch_3.");
  expect(nextJa(answerOf(["ch_3"]), verdict)[0]).toBe("ch_3 を返金する。");
  expect(nextEn(answerOf([]), verdict)[0]).toBe("Refund what was charged too often under key B and key C.");
  expect(nextJa(answerOf([]), verdict)[0]).toContain("B、C");
  expect(verdictsIn(answerOf([]))).toEqual([verdict, "one-effect"]);
});

test("of an open outcome it is said whether the provider was asked", () => {
  const asked = (nothingFound: boolean) => {
    const open = { ...key, effects: { count: 0, by: "provider", nothingFound }, providerIds: [] };
    const intents = [{ verdict: "not-known", keys: ["A"], refund: [] }];
    return saysJa({ verdict: "not-known", keys: [open], intents } as unknown as AskAnswer);
  };
  expect(asked(true)).toContain("まだありません");
  expect(asked(false)).toContain("照会できません");
});
