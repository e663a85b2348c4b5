import fc from "fast-check";
import { parseItem } from "structured-headers";
import { describe, expect, it } from "vitest";
import { parseStructuredString } from "./key.ts";

/** What an independent parser of RFC 9651 makes of the text: the string, or undefined for anything else. */
function oracle(text: string): string | undefined {
  try {
    const [value] = parseItem(text);
    return typeof value === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}

function ours(text: string): string | undefined {
  const result = parseStructuredString(text);
  return result.ok ? result.value : undefined;
}

const bareItem = fc.oneof(
  fc.constantFrom(
    "1",
    "-12",
    "1.5",
    "-0.125",
    "999999999999999",
    "9999999999999999",
    "1.",
    ".5",
    "1.2345",
    "1.2.3",
    "--1",
  ),
  fc.constantFrom("tok", "*a/b:c", "a'b", "?1", "?0", "?2", ":YWJj:", "::", ":YW", "@1", "@-5", "@1.5", "@", "-"),
  fc.constantFrom('"s"', '"a\\"b"', '"a\\x"', '"', '%"caf%c3%a9"', '%"%ff"', '%"%C3%A9"', '%"a"b"', "()", "é", ""),
);
const parameter = fc
  .tuple(
    fc.constantFrom(";", "; ", ";  ", " ;", ";\t", ";;", ","),
    fc.constantFrom("a", "*", "v-1_.*", "A", "1a", "", "é"),
    fc.option(fc.tuple(fc.constantFrom("=", " =", "= "), bareItem)),
  )
  .map(([separator, name, value]) => separator + name + (value === null ? "" : value[0] + value[1]));
const inside = fc.string({
  unit: fc.constantFrom("a", " ", "~", "!", ",", ";", "\\\\", '\\"', "\\", '"', "\t", "\x7f", "é"),
});

/** The other parser takes a date for the end of the field and refuses what follows it. */
const dateThenMore = /@-?[\d.]+\s*;/;

describe("parseStructuredString", () => {
  it("H-10 agrees with an independent parser of RFC 9651 on strings and their parameters", () => {
    const field = fc
      .tuple(inside, fc.array(parameter, { maxLength: 3 }))
      .map(([text, parameters]) => `"${text}"${parameters.join("")}`);
    fc.assert(
      fc.property(field, (text) => {
        fc.pre(!dateThenMore.test(text));
        expect(ours(text)).toBe(oracle(text));
      }),
      { numRuns: 3000 },
    );
  });

  it("H-11 agrees with an independent parser of RFC 9651 on arbitrary short text", () => {
    const text = fc.string({ unit: fc.constantFrom(...'"\\;=ab*1.-:?@%() ,'.split("")), maxLength: 12 });
    fc.assert(
      fc.property(text, (given) => {
        const trimmed = given.trim();
        fc.pre(!dateThenMore.test(trimmed));
        expect(ours(trimmed)).toBe(oracle(trimmed));
      }),
      { numRuns: 5000 },
    );
  });

  it("H-04 tells whether there were parameters, and takes every type of value in them", () => {
    const values = ["1", "1.5", '"s"', "tok", ":YWJj:", "?1", "@1659578233", '%"caf%c3%a9"'];
    for (const value of values) {
      expect(parseStructuredString(`"k"; p=${value};grease`)).toEqual({ ok: true, value: "k", hasParameters: true });
    }
    expect(parseStructuredString('"k"')).toEqual({ ok: true, value: "k", hasParameters: false });
  });

  it.each([
    ["k", /double quotes/],
    ['"k', /not closed/],
    ['"a\\x"', /backslash/],
    ['"é"', /printable ASCII/],
    ['"k"x', /closing quote/],
    ['"k";p=%"%ff"', /parameters/],
    ['"k";p=', /parameters/],
  ])("H-10 says what is wrong with %s", (text, reason) => {
    const result = parseStructuredString(text);
    expect(result.ok).toBe(false);
    expect(result.ok ? "" : result.detail).toMatch(reason);
  });
});
