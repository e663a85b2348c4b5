/** Forms: pairs count as they decode, whatever way they are written and however differently named ones are ordered. */
import { fingerprintOf } from "../../packages/ichido/src/core/request/fingerprint.ts";
import { inheritedNames, lettersOf, listOf, shuffled, textOf } from "./draw.ts";
import { must, type Random, type Target } from "./target.ts";

type Pair = readonly [name: string, value: string];

const letters = [...lettersOf("ab=&+ %[].;"), "é", "\0", "😀", "\n"];
const names = ["a", "b", "a[]", "a[b]", "é", "", ...inheritedNames];

const drawPair = (random: Random): Pair => [
  random.chance(0.7) ? random.pick(names) : textOf(random, letters, 4),
  textOf(random, letters, 6),
];

/** As a browser, a library or a careless program would write it. */
function spellPart(random: Random, text: string): string {
  let spelt = "";
  for (const byte of Buffer.from(text)) {
    const hex = byte.toString(16).padStart(2, "0");
    const isPlain = /[A-Za-z0-9\-._~*]/.test(String.fromCharCode(byte));
    if (isPlain && random.chance(0.8)) spelt += String.fromCharCode(byte);
    else if (byte === 0x20 && random.chance(0.5)) spelt += "+";
    else spelt += `%${random.chance(0.5) ? hex : hex.toUpperCase()}`;
  }
  return spelt;
}

function spellForm(random: Random, pairs: readonly Pair[]): string {
  const spelt = pairs.map(([name, value]) => {
    if (value === "" && name !== "" && random.chance(0.5)) return spellPart(random, name);
    return `${spellPart(random, name)}=${spellPart(random, value)}`;
  });
  const joined = spelt.join("&");
  return random.chance(0.1) ? `&${joined}&&` : joined;
}

/** Pairs of one name stay in order, those of different names may be in any. */
function reordered(random: Random, pairs: readonly Pair[]): Pair[] {
  const byName = Map.groupBy(pairs, ([name]) => name);
  return shuffled(
    random,
    pairs.map(([name]) => name),
  ).map((name) => byName.get(name)?.shift() as Pair);
}

/** By URLSearchParams: what most handlers read. */
function standard(text: string): string {
  const pairs = [...new URLSearchParams(text)];
  return JSON.stringify(pairs.toSorted(([one], [other]) => (one === other ? 0 : one < other ? -1 : 1)));
}

function canonicalOf(text: string): string {
  const { canonical } = fingerprintOf({
    method: "POST",
    target: "/",
    mediaType: "application/x-www-form-urlencoded",
    body: { kind: "bytes", bytes: Buffer.from(text) },
    options: { fields: undefined, compare: "semantic" },
  });
  return Buffer.from(canonical).toString("hex");
}

export const formBodies: Target = {
  name: "form-bodies",
  promise: "F-03 a form has one hash in every spelling, and no form that a handler reads otherwise has it",
  inputs: 30_000,
  open: () => ({
    attempt(random) {
      const pairs = listOf(random, 5, () => drawPair(random));
      const text = spellForm(random, pairs);
      const hash = canonicalOf(text);
      const again = spellForm(random, reordered(random, pairs));
      // Nothing but separators is a body of bytes, and no body is none at all.
      if (pairs.length > 0) must(canonicalOf(again) === hash, "another hash for another spelling", text, again);
      const other = spellForm(random, pairs.toSpliced(random.int(0, pairs.length), random.int(0, 1), drawPair(random)));
      if (canonicalOf(other) === hash)
        must(standard(other) === standard(text), "forms that differ are one", text, other);
    },
  }),
};
