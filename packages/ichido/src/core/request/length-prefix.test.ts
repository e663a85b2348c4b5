import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { lengthPrefixed } from "./length-prefix.ts";

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
