/** The glossary is the only source of words: each of its nouns is in use, and what they replaced does not come back. */
import { expect, test } from "vitest";
import { linesMatching, read, trackedFiles } from "./tracked.ts";

const sources = trackedFiles().filter(
  (path) => /^packages\/ichido\/src\/.*\.(ts|sql|lua)$/.test(path) && !path.includes(".generated."),
);

const words = [...read("docs/reference/glossary.md").matchAll(/^\| ([a-z][a-z ]*) \|/gm)].map(([, word = ""]) => word);

test("the glossary has words, each once", () => {
  expect(words.length).toBeGreaterThan(30);
  expect(words).toEqual([...new Set(words)]);
});

test("every word of the glossary is in use", () => {
  const text = sources.map(read).join("\n").toLowerCase();
  const isUsed = (word: string): boolean => word.split(" ").every((part) => text.includes(part));
  expect(words.filter((word) => !isUsed(word))).toEqual([]);
});

/** Private words that stood where a plain one does now. */
const retired = [
  "workshop",
  "perseverance",
  "persevere",
  "laxness",
  "farewell",
  "company",
  "bury",
  "sqliteLine",
  "hearErrors",
  "folding",
  "suspectsOf",
  "truthOf",
  "oneBody",
  "leaseOnly",
  "desk",
  "storey",
];

test("words that were replaced do not come back", () => {
  expect(linesMatching(sources, new RegExp(`\\b(?:${retired.join("|")})\\b`, "i"))).toEqual([]);
});
