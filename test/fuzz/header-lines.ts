/** The lines of the key's header, in every profile: an answer for each, the same each time, and none but a sound key. */
import { parseItem } from "structured-headers";
import { profiles, type Profile } from "../../packages/ichido/src/core/contract/profiles.ts";
import { parseKey, type ParsedKey } from "../../packages/ichido/src/core/request/key.ts";
import { inheritedNames, lettersOf, textOf } from "./draw.ts";
import { must, type Random, type Target } from "./target.ts";

const tried: readonly Profile[] = [...Object.values(profiles), { ...profiles.ietf, name: "strict", keyForm: "strict" }];

const inside = [
  ...lettersOf("aZ0 ~!,;:=%(){}'"),
  '\\"',
  "\\\\",
  "\\",
  '"',
  "\t",
  "\x7f",
  "\0",
  "\r",
  "\n",
  "é",
  "€",
  "\ud800",
];
const values = [
  ..."1 -12 1.5 -0.125 999999999999999 9999999999999999 1. .5 1.2345 1.2.3 --1 tok *a/b:c a'b ?1 ?0 ?2 :YWJj: :: :YW @1 @-5 @ - ()".split(
    " ",
  ),
  '"s"',
  '"a\\x"',
  '"',
  '%"caf%c3%a9"',
  '%"%ff"',
  '%"%C3%A9"',
  "é",
  "",
];
const names = ["a", "*", "v-1_.*", "A", "1a", "", "é", ...inheritedNames];
const bareLetters = lettersOf("abcXYZ019!#$%&*+-./:=?@^_`|~");
const bare = [...bareLetters, " ", ",", ";", "(", ")", "{", "<", "'", '"', "\\", "\t", "\x7f", "é"];
const uuid = "8e03978e-40d5-43e8-bc93-6894a57f9324";

function drawQuoted(random: Random): string {
  let text = `"${textOf(random, inside, random.chance(0.05) ? 400 : 12)}"`;
  while (random.chance(0.4)) {
    const separator = random.pick([";", ";", "; ", ";  ", " ;", ";\t", ";;", ","]);
    const value = random.chance(0.6) ? random.pick(["=", "=", "=", " =", "= "]) + random.pick(values) : "";
    text += separator + random.pick(names) + value;
  }
  return text;
}

const draws: readonly ((random: Random) => string)[] = [
  drawQuoted,
  drawQuoted,
  (random) => `"${textOf(random, [...lettersOf("aZ 0~!;,"), "\\\\", '\\"'], random.pick([4, 30, 300]))}"`,
  (random) => textOf(random, bare, random.pick([4, 30, 300])),
  (random) => textOf(random, bareLetters, random.pick([4, 30, 300])),
  (random) => random.pick(inheritedNames),
  (random) => random.pick([uuid, uuid.toUpperCase(), `"${uuid}"`, uuid.slice(1), `{${uuid}}`, `urn:uuid:${uuid}`]),
  (random) => `${drawQuoted(random)}${random.pick([",", ", ", " "])}${drawQuoted(random)}`,
  (random) => Buffer.from(random.bytes(random.int(0, 30))).toString("latin1"),
  (random) => random.pick(['"', "a", "\\", ";", '";a', " ", "é"]).repeat(random.int(1, random.pick([300, 20_000]))),
];

function drawLine(random: Random): string {
  const around = (): string => random.pick(["", "", "", " ", "\t", " \t  "]);
  return around() + random.pick(draws)(random) + around();
}

export function drawLines(random: Random): string[] {
  const count = random.chance(0.9) ? 1 : random.int(0, 3);
  return Array.from({ length: count }, () => drawLine(random));
}

/** The other parser takes a date for the end of the field and refuses what follows it. */
const dateThenMore = /@-?[\d.]+\s*;/;

/** What RFC 9651 makes of the text, by another program: the string, or undefined for anything else. */
function structured(text: string): string | undefined {
  try {
    const [value] = parseItem(text);
    return typeof value === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}

const bareAlphabet = new Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$%&*+-./:=?@^_`|~");
const isPrintable = (text: string): boolean => /^[ -~]*$/.test(text);

function fits(key: string, profile: Profile): boolean {
  if (key.trim() === "" || key.length > profile.keyLengthMax) return false;
  return (
    profile.keyPattern === "any" || /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i.test(key)
  );
}

const detailLengthMax = 400;

function isSound(answer: ParsedKey, lines: readonly string[], profile: Profile): void {
  if (!answer.ok) {
    must(answer.reason === "absent" ? lines.length === 0 : lines.length > 0, "an odd reason", answer, lines);
    must(answer.detail.length < detailLengthMax && isPrintable(answer.detail), "a detail unfit to be shown", answer);
    return;
  }
  must(lines.length === 1, "one key of several lines", lines);
  must(isPrintable(answer.key) && fits(answer.key, profile), "a key outside the rules", profile.name, answer.key);
}

/** What a client that quotes its key would send. */
const quotedOf = (key: string): string => `"${key.replace(/["\\]/g, "\\$&")}"`;

/** The key that the published rules make of the lines, or none; `undecided` where only soundness can be asked. */
export function expectedKey(lines: readonly string[], profile: Profile): { readonly key?: string } | "undecided" {
  const [line, ...others] = lines;
  if (line === undefined || others.length > 0) return {};
  const text = line.replace(/^[ \t]+|[ \t]+$/g, "");
  if (profile.keyForm === "bare" || dateThenMore.test(text)) return "undecided";
  const isQuoted = text.startsWith('"') || profile.keyForm === "strict";
  const isBare = text.split("").every((letter) => bareAlphabet.has(letter));
  const key = isQuoted ? structured(text) : isBare ? text : undefined;
  if (key === undefined || !fits(key, profile)) return {};
  return { key: profile.keyCase === "lower" ? key.toLowerCase() : key };
}

export const headerLines: Target = {
  name: "header-lines",
  promise: "H-01 to H-13 every line of a header is one sound key or a refusal, as RFC 9651 has it",
  inputs: 70_000,
  open: () => ({
    attempt(random) {
      const lines = drawLines(random);
      const profile = random.pick(tried);
      const answer = parseKey(lines, profile);
      parseKey([drawLine(random)], profile);
      must(JSON.stringify(parseKey(lines, profile)) === JSON.stringify(answer), "another answer", lines);
      isSound(answer, lines, profile);
      const expected = expectedKey(lines, profile);
      if (expected !== "undecided") {
        const key = answer.ok ? answer.key : undefined;
        must(key === expected.key, "not as the rules have it", profile.name, lines, answer, expected);
      }
      if (!answer.ok || profile.keyForm === "bare") return;
      const again = parseKey([quotedOf(answer.key)], profile);
      must(again.ok && again.key === answer.key, "not the same key in quotes", lines, again);
    },
  }),
};
