import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeText, encodeText } from "./text.ts";

const anyText = fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)) });
const strangeText = fc.string({ unit: fc.constantFrom("\0", "\u001a", "\ud800", "\udfff", "0", "a", "\u{1f600}") });

describe("text", () => {
  it("S13 every string comes back as it was", () => {
    fc.assert(fc.property(fc.oneof(anyText, strangeText), (text) => decodeText(encodeText(text)) === text));
  });

  it("S13 what is written has neither NUL nor half a surrogate pair", () => {
    fc.assert(
      fc.property(fc.oneof(anyText, strangeText), (text) => {
        const written = encodeText(text);
        expect(written).not.toContain("\0");
        expect(Buffer.from(written, "utf8").toString("utf8")).toBe(written);
      }),
    );
  });

  it("S13 two strings are never written alike", () => {
    fc.assert(
      fc.property(
        strangeText,
        strangeText,
        (one, other) => (encodeText(one) === encodeText(other)) === (one === other),
      ),
    );
  });

  it("leaves ordinary text alone", () => {
    for (const text of ["", "key", "caf\u00e9", "\u{1f600}", "\\x1a", "a\u007fb"]) expect(encodeText(text)).toBe(text);
  });
});
