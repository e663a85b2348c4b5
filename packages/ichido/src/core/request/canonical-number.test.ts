import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isCanonicalNumber } from "./canonical-json.ts";
import { canonicalNumber } from "./canonical-number.ts";

describe("canonicalNumber", () => {
  it.each([
    [["1", "1.0", "1e0", "10e-1", "0.1e1", "1.000E+00"], "1"],
    [["0", "-0", "0.0", "-0.0", "0e5", "0E-999", "-0e99999999999999999999"], "0"],
    [["100", "1e2", "1.00e2", "1000e-1"], "100"],
    [["12.5", "12.50", "125e-1", "0.125e2"], "12.5"],
    [["-0.5", "-5e-1", "-0.50"], "-0.5"],
    [["0.000001", "1e-6", "10e-7"], "0.000001"],
    [["0.0000001", "1e-7", "1.0E-7"], "1e-7"],
    [["1e21", "1000000000000000000000"], "1e+21"],
    [["1e20", "100000000000000000000"], "100000000000000000000"],
    [["1.5e300", "15e299"], "1.5e+300"],
  ])("F-04 spells %j alike", (texts, expected) => {
    for (const text of texts) expect(canonicalNumber(text)).toBe(expected);
  });

  it.each([
    ["9007199254740992", "9007199254740993"],
    ["0.1", "0.10000000000000000001"],
    ["1e400", "1e401"],
    ["123456789012345678901234567890", "123456789012345678901234567891"],
    ["1e-400", "0"],
    ["1", "-1"],
  ])("F-05 A13 holds %s and %s apart", (a, b) => {
    expect(canonicalNumber(a)).toBeDefined();
    expect(canonicalNumber(a)).not.toBe(canonicalNumber(b));
  });

  it("F-05 spells a number longer than a double without loss", () => {
    expect(canonicalNumber("12345678901234567890123.25")).toBe("1.234567890123456789012325e+22");
    expect(canonicalNumber("123456789012345678901.5")).toBe("123456789012345678901.5");
  });

  it("never expands an exponent, and gives up on one that is too long", () => {
    expect(canonicalNumber("1e999999999")).toBe("1e+999999999");
    expect(canonicalNumber("1e-000999999999")).toBe("1e-999999999");
    expect(canonicalNumber(`1e${"9".repeat(15)}`)).toBe(`1e+${"9".repeat(15)}`);
    expect(canonicalNumber(`1e${"9".repeat(16)}`)).toBeUndefined();
    expect(canonicalNumber(`1e${"0".repeat(100_000)}2`)).toBe("100");
  });

  it.each([
    "",
    "-",
    "01",
    "-01",
    "1.",
    ".5",
    "1e",
    "1e+",
    "+1",
    "NaN",
    "Infinity",
    "0x1",
    "1_0",
    "1 ",
    "1.e5",
    "--1",
    "1-1",
  ])("refuses %j, which is no JSON number", (text) => {
    expect(canonicalNumber(text)).toBeUndefined();
    expect(isCanonicalNumber(text, 0, text.length)).toBe(false);
  });

  it("F-04 spells every double as ECMAScript and RFC 8785 do", () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        const text = String(value);
        expect(canonicalNumber(Object.is(value, -0) ? "-0" : text)).toBe(text);
        expect(canonicalNumber(value.toExponential())).toBe(text);
      }),
      { numRuns: 2000 },
    );
  });

  it("F-04 F-05 agrees with exact arithmetic on whether two numbers are equal", () => {
    const digits = fc.string({ unit: fc.constantFrom("0", "0", "1", "9"), minLength: 1, maxLength: 6 });
    const parts = fc.tuple(
      fc.constantFrom("", "-"),
      digits,
      fc.option(digits),
      fc.option(fc.integer({ min: -8, max: 8 })),
    );
    const scaled = ([sign, integer, fraction, exponent]: readonly [
      string,
      string,
      string | null,
      number | null,
    ]): bigint =>
      BigInt(`${sign === "-" ? -1 : 1}`) *
      BigInt(integer + (fraction ?? "")) *
      10n ** BigInt(20 + (exponent ?? 0) - (fraction?.length ?? 0));
    const spelt = ([sign, integer, fraction, exponent]: readonly [
      string,
      string,
      string | null,
      number | null,
    ]): string =>
      sign +
      integer.replace(/^0+(?=\d)/, "") +
      (fraction === null ? "" : `.${fraction}`) +
      (exponent === null ? "" : `e${exponent}`);
    fc.assert(
      fc.property(parts, parts, (a, b) => {
        expect(canonicalNumber(spelt(a)) === canonicalNumber(spelt(b))).toBe(scaled(a) === scaled(b));
      }),
      { numRuns: 5000 },
    );
  });
});

describe("isCanonicalNumber", () => {
  it("F-04 only says yes to what canonicalNumber leaves as it is", () => {
    const text = fc.string({
      unit: fc.constantFrom("-", "0", "0", "1", "5", ".", "e", "+"),
      minLength: 1,
      maxLength: 26,
    });
    fc.assert(
      fc.property(text, (given) => {
        if (isCanonicalNumber(`[${given}]`, 1, given.length + 1)) expect(canonicalNumber(given)).toBe(given);
      }),
      { numRuns: 5000 },
    );
  });

  it("says yes to ordinary integers and decimals", () => {
    for (const text of ["0", "7", "-7", "100", "12.5", "-0.5", "0.25", "123456789012345678901"]) {
      expect(isCanonicalNumber(text, 0, text.length), text).toBe(true);
    }
    for (const text of ["-0", "1.50", "0.05", "1e2", "1234567890123456789012"]) {
      expect(isCanonicalNumber(text, 0, text.length), text).toBe(false);
    }
  });
});
