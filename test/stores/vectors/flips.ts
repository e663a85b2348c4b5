/**
 * Flips of a rule as a server runs it: one operator or literal turned into its opposite, or moved by the one case at its
 * bound. Each is found by the vectors, or is listed with the reason why no vector can find it.
 */
import { createHash } from "node:crypto";
import type { expect as Expect, test as Test } from "vitest";
import type { Vector } from "./cases.ts";
import { differences, type Bed } from "./check.ts";
import { damagedDifferences } from "./damaged.ts";
import { families } from "./run.ts";
import { viewDifferences, type View } from "./views.ts";

export type Edit = (text: string) => string;

/** A script, a function or a statement that decides about records. */
export interface Rule {
  readonly name: string;
  readonly text: string;
  readonly language: "lua" | "sql";
  /** Vectors of these verbs ask it; other rules are asked by these views. */
  readonly verbs?: readonly Vector["verb"][];
  readonly views?: readonly View[];
  /** Beds of a copy that is edited so: one for each way in which it is asked. */
  readonly beds: readonly ((edit: Edit) => Promise<Bed>)[];
}

export interface Flip {
  readonly rule: Rule;
  /** Its line, with the change in brackets. */
  readonly name: string;
  readonly edit: Edit;
}

const turned: Readonly<Record<string, string>> = {
  "==": "~=",
  "~=": "==",
  "=": "<>",
  "<>": "=",
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  and: "or",
  or: "and",
  not: "",
  "+": "-",
  "-": "+",
  true: "false",
  false: "true",
  "0": "1",
  "1": "0",
  "'0'": "'1'",
  "'1'": "'0'",
};

const tokens = {
  lua: /--.*|'(?:[^'\\]|\\.)*'|\.\.|[=~<>]=|[\w.]+|[^\s\w]/g,
  sql: /--.*|'[^']*'|\$\w*\$?|::|:=|->>?|<>|<=|>=|\|\||[\w.]+|[^\s\w]/g,
};

export function flipsOf(rule: Rule): readonly Flip[] {
  const { text, language } = rule;
  const flips: Flip[] = [];
  const names = new Map<string, number>();
  let between = false;
  let before: readonly string[] = ["", ""];
  for (const { 0: token, index } of text.matchAll(tokens[language])) {
    if (token.startsWith("--")) continue;
    const [second = "", last = ""] = before;
    before = [last, token];
    between ||= token === "between";
    const joinsBounds = between && token === "and";
    if (joinsBounds) between = false;
    const to = turned[token];
    // An index is no literal of a rule; what SQL sets is not compared; strings of SQL are words.
    const isIndex = last === "[" && /^[01]$/.test(token);
    const sets = token === "=" && (language === "lua" || /^(set|using|,)$/.test(second));
    if (to === undefined || joinsBounds || isIndex || sets || (language === "sql" && token.startsWith("'"))) continue;
    const changed = text.slice(0, index) + to + text.slice(index + token.length);
    const [start, end] = [text.lastIndexOf("\n", index) + 1, `${text}\n`.indexOf("\n", index)];
    const line = `${text.slice(start, index)}[${token} → ${to}]${text.slice(index + token.length, end)}`.trim();
    const count = (names.get(line) ?? 0) + 1;
    names.set(line, count);
    const name = `${rule.name}: ${line}${count > 1 ? ` (${count})` : ""}`;
    flips.push({ rule, name, edit: (each) => (each === text ? changed : each) });
  }
  return flips;
}

/** A first look at few vectors finds most flips; the whole of them is asked about what is left. */
const firstLook = 250;

async function difference({ rule, edit }: Flip): Promise<string | undefined> {
  for (const open of rule.beds) {
    const bed = await open(edit);
    // What the store cannot even read was left there by the flip.
    const found = await differenceIn(bed, rule).catch((error: unknown) => `threw ${String(error)}`);
    await bed.close();
    if (found !== undefined) return found;
  }
  return undefined;
}

async function differenceIn(bed: Bed, { verbs = [], views = [] }: Rule): Promise<string | undefined> {
  const asked = whole().map(({ tick, vectors, alone = false }) => ({
    tick,
    alone,
    vectors: vectors.filter((each) => verbs.includes(each.verb)),
  }));
  for (const most of [firstLook, Infinity]) {
    for (const { tick, vectors, alone } of asked) {
      const every = Math.max(1, Math.ceil(vectors.length / most));
      const some = vectors.filter((_, at) => at % every === 0);
      const [found] = some.length === 0 ? [] : await differences(bed, some, tick, { enough: 1, alone });
      if (found !== undefined) return found;
    }
    if (most !== firstLook) continue;
    const [seen] = views.length === 0 ? [] : await viewDifferences(bed, { only: views });
    const [decided] = verbs.includes("forget") ? ((await bed.forgetEach?.()) ?? []) : [];
    const [damaged] = verbs.includes("claim") && bed.damages !== undefined ? await damagedDifferences(bed) : [];
    const found = seen ?? decided ?? damaged;
    if (found !== undefined) return found;
  }
  return undefined;
}

let all: ReturnType<typeof families> | undefined;

function whole(): ReturnType<typeof families> {
  return (all ??= families());
}

/** `ICHIDO_FLIPS=all` tries all of them, also those that are listed as unseen: these must not be found. */
const asked = process.env["ICHIDO_FLIPS"] ?? "24";
const most = asked === "all" ? Infinity : Number(asked);
const seed = "flip";

interface Framework {
  readonly test: typeof Test;
  readonly expect: typeof Expect;
}

export function findFlips(
  { test, expect }: Framework,
  rules: readonly Rule[],
  unseen: Readonly<Record<string, readonly string[]>>,
): void {
  const flips = rules.flatMap(flipsOf);
  const equal: Readonly<Record<string, string>> = Object.fromEntries(
    Object.entries(unseen).flatMap(([reason, names]) => names.map((name) => [name, reason])),
  );
  const drawn = flips
    .filter(({ name }) => equal[name] === undefined)
    .map((flip) => ({ flip, lot: createHash("sha256").update(`${seed} ${flip.name}`).digest("hex") }))
    .toSorted((one, other) => (one.lot < other.lot ? -1 : 1))
    .slice(0, most);

  test(`${flips.length} flips of ${rules.length} rules, ${Object.keys(equal).length} of them seen by no vector`, () => {
    expect(flips.length).toBeGreaterThan(rules.length);
    const names = new Set(flips.map(({ name }) => name));
    expect(Object.keys(equal).filter((name) => !names.has(name))).toEqual([]);
  });

  for (const { flip } of drawn) {
    test(`finds ${flip.name}`, { timeout: 120_000 }, async () => {
      expect(await difference(flip)).toBeDefined();
    });
  }
  for (const flip of most === Infinity ? flips.filter(({ name }) => equal[name] !== undefined) : []) {
    test(`sees nothing of ${flip.name} (${equal[flip.name]})`, { timeout: 120_000 }, async () => {
      expect(await difference(flip)).toBeUndefined();
    });
  }
}
