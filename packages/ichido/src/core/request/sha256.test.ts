import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hasLoneSurrogate, lengthPrefixed, sha256, sha256Hex } from "./sha256.ts";

describe("sha256", () => {
  it("S10 is SHA-256 at full width, of text as UTF-8 and of bytes", () => {
    // The test vector of FIPS 180-4 for "abc".
    const expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    expect(sha256Hex("abc")).toBe(expected);
    expect(sha256Hex(new TextEncoder().encode("abc"))).toBe(expected);
    expect(Buffer.from(sha256("abc")).toString("hex")).toBe(expected);
    expect(sha256Hex("é")).toBe(sha256Hex(Uint8Array.of(0xc3, 0xa9)));
  });
});

describe("hasLoneSurrogate", () => {
  it("tells text without a UTF-8 form of its own", () => {
    for (const text of ["\ud800", "a\udc00b", "\udc00\ud800"]) expect(hasLoneSurrogate(text)).toBe(true);
    for (const text of ["", "é", "😀", "\ufffd"]) expect(hasLoneSurrogate(text)).toBe(false);
  });
});

describe("lengthPrefixed", () => {
  it("S-03 S10 never gives two different lists the same text", () => {
    const part = fc.option(fc.string({ unit: fc.constantFrom("a", ":", "-", "1", "2"), maxLength: 4 }), {
      nil: undefined,
    });
    const list = fc.array(part, { maxLength: 4 });
    fc.assert(
      fc.property(list, list, (a, b) => {
        const isSame = a.length === b.length && a.every((text, index) => text === b[index]);
        expect(lengthPrefixed(a) === lengthPrefixed(b)).toBe(isSame);
      }),
      { numRuns: 5000 },
    );
  });

  it.each([
    [
      ["a:b", "c"],
      ["a", "b:c"],
    ],
    [[""], [undefined]],
    [[""], []],
    [["1:a"], ["", "a"]],
    [["-"], [undefined]],
  ])("S-03 holds %j and %j apart", (a, b) => {
    expect(lengthPrefixed(a)).not.toBe(lengthPrefixed(b));
  });
});
