/** JSON bodies: one value however it is spelt, another value always another hash; compared with RFC 8785 by another program. */
import canonicalize from "canonicalize";
import { canonicalJson } from "../../packages/ichido/src/core/request/canonical-json.ts";
import { fingerprintOf } from "../../packages/ichido/src/core/request/fingerprint.ts";
import { inheritedNames, listOf, shuffled, textOf } from "./draw.ts";
import { must, type Random, type Target } from "./target.ts";

type Json = null | boolean | number | string | readonly Json[] | Members;
interface Members {
  readonly [name: string]: Json;
}

const letters = ["a", "b", "é", "é", '"', "\\", "/", "\n", "\u2028", "\u0000", "😀", "\ufffd", "\ufeff", " ", "1"];
const numbers = [
  0,
  -0,
  1,
  -1,
  10,
  100,
  0.1,
  1e21,
  1e-7,
  123456789012345680000,
  5e-324,
  1.7976931348623157e308,
  2 ** 53,
];

const drawText = (random: Random): string => textOf(random, letters, 5);
const drawName = (random: Random): string => (random.chance(0.2) ? random.pick(inheritedNames) : drawText(random));

function drawNumber(random: Random): number {
  if (random.chance(0.3)) return random.pick(numbers);
  if (random.chance(0.5)) return random.int(-1_000, 1_000);
  return (random.next() - 0.5) * 10 ** random.int(-20, 30);
}

/** Own members all, also one that is called `__proto__`. */
function membersOf(pairs: readonly (readonly [string, Json])[]): Members {
  return Object.fromEntries(pairs);
}

function drawValue(random: Random, depth: number): Json {
  const kind = random.int(0, depth > 0 ? 7 : 4);
  if (kind === 0) return random.pick([null, true, false]);
  if (kind <= 2) return drawNumber(random);
  if (kind <= 4) return drawText(random);
  const most = random.chance(0.05) ? 40 : 4;
  if (kind === 5) return listOf(random, most, () => drawValue(random, depth - 1));
  return membersOf(listOf(random, most, () => [drawName(random), drawValue(random, depth - 1)] as const));
}

const isList = (value: Json): value is readonly Json[] => Array.isArray(value);
const isMembers = (value: Json): value is Members => typeof value === "object" && value !== null && !isList(value);

/** The same value, otherwise in one place. */
function changed(random: Random, value: Json): Json {
  if (isList(value) && value.length > 0 && random.chance(0.8)) {
    const at = random.int(0, value.length - 1);
    if (random.chance(0.2)) return value.toSpliced(at, 1);
    return value.with(at, changed(random, value[at] as Json));
  }
  if (isMembers(value)) {
    const pairs = Object.entries(value);
    if (pairs.length > 0 && random.chance(0.8)) {
      const at = random.int(0, pairs.length - 1);
      const [name, inside] = pairs[at] as [string, Json];
      if (random.chance(0.1)) return membersOf(pairs.toSpliced(at, 1));
      return membersOf(pairs.with(at, [random.chance(0.1) ? drawName(random) : name, changed(random, inside)]));
    }
  }
  return drawValue(random, 1);
}

const space = (random: Random): string => (random.chance(0.8) ? "" : textOf(random, [" ", "\n", "\r", "\t"], 3));

function spellText(random: Random, text: string): string {
  if (random.chance(0.5)) return JSON.stringify(text);
  const units = text.split("").map((unit) => {
    const code = unit.charCodeAt(0).toString(16).padStart(4, "0");
    if (random.chance(0.3)) return `\\u${random.chance(0.5) ? code : code.toUpperCase()}`;
    if (unit === "/") return random.pick(["/", "\\/"]);
    // Halves of a pair stand as they are only beside each other.
    return /[\ud800-\udfff]/.test(unit) ? `\\u${code}` : JSON.stringify(unit).slice(1, -1);
  });
  return `"${units.join("")}"`;
}

function spellNumber(random: Random, value: number): string {
  const text = Object.is(value, -0) ? "-0" : String(value);
  const [mantissa = "", exponent = "0"] = text.split("e");
  switch (random.int(0, 5)) {
    case 0:
      return `${mantissa}e${random.pick(["", "+"])}${exponent.replace("+", "")}`.replace(/e\+-/, "e-");
    case 1:
      return `${mantissa}E${exponent}`;
    case 2:
      return mantissa.includes(".") ? `${mantissa}000${text.slice(mantissa.length)}` : text;
    case 3:
      return text.includes("e") || mantissa.includes(".") ? text : `${text}.0`;
    case 4:
      return mantissa.includes(".") || value === 0 ? text : `${mantissa}0e${Number(exponent) - 1}`;
    default:
      return text;
  }
}

function spell(random: Random, value: Json): string {
  const pad = (text: string): string => space(random) + text + space(random);
  if (typeof value === "string") return pad(spellText(random, value));
  if (typeof value === "number") return pad(spellNumber(random, value));
  if (isList(value))
    return pad(`[${value.length === 0 ? space(random) : ""}${value.map((each) => spell(random, each)).join(",")}]`);
  if (!isMembers(value)) return pad(String(value));
  const members = shuffled(random, Object.entries(value));
  return pad(`{${members.map(([name, each]) => `${pad(spellText(random, name))}:${spell(random, each)}`).join(",")}}`);
}

const types = ["application/json", "application/json; charset=utf-8", "Application/JSON", "application/json ;a=b"];

function canonicalOf(random: Random, text: string): string {
  const { canonical } = fingerprintOf({
    method: "POST",
    target: "/payments",
    mediaType: random.pick(types),
    body: { kind: "bytes", bytes: Buffer.from(text) },
    options: { fields: undefined, compare: "semantic" },
  });
  return Buffer.from(canonical).toString("hex");
}

export const jsonBodies: Target = {
  name: "json-bodies",
  promise: "F-03 to F-06 A13 a JSON value has one hash in every spelling, and no other value has it",
  inputs: 30_000,
  open: () => ({
    attempt(random) {
      const value = drawValue(random, 4);
      const text = spell(random, value);
      const standard = canonicalize(value);
      must(canonicalJson(text) === standard, "not as RFC 8785 spells it", text, canonicalJson(text), standard);
      const hash = canonicalOf(random, text);
      must(canonicalOf(random, spell(random, value)) === hash, "another hash for another spelling", text);
      const parsed = fingerprintOf({
        method: "POST",
        target: "/payments",
        mediaType: "application/json",
        body: { kind: "parsed", value },
        options: { fields: undefined, compare: "semantic" },
      });
      must(Buffer.from(parsed.canonical).toString("hex") === hash, "another hash when parsed", text);
      const other = changed(random, value);
      const isSame = canonicalize(other) === standard;
      const otherText = spell(random, other);
      must((canonicalOf(random, otherText) === hash) === isSame, "values and hashes disagree", text, otherText);
    },
  }),
};
