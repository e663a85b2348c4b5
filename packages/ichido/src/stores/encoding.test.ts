import { describe, expect, it } from "vitest";
import {
  decodeCursor,
  decodeHeaders,
  decodeLabels,
  encodeCursor,
  encodeHeaders,
  encodeLabels,
  kindOf,
  stateOf,
} from "./encoding.ts";

describe("header lines", () => {
  it("S13 order, multiplicity and every character come back", () => {
    const lines = [
      ["b", '"quoted" \\ é 漢 \u0000'],
      ["a", ""],
      ["b", "again"],
    ] as const;
    expect(decodeHeaders(encodeHeaders(lines))).toEqual(lines);
    expect(decodeHeaders(encodeHeaders([]))).toEqual([]);
  });

  it("damaged text throws instead of giving strange headers", () => {
    for (const text of ["{}", '["a"]', '[["a"]]', '[["a",1]]', "[", ""])
      expect(() => decodeHeaders(text)).toThrow(TypeError);
  });
});

describe("labels", () => {
  it("equal labels are equal texts, whatever their order; none are no text", () => {
    expect(encodeLabels({ b: "2", a: "1" })).toBe(encodeLabels({ a: "1", b: "2" }));
    expect(encodeLabels({})).toBeNull();
    expect(encodeLabels(undefined)).toBeNull();
    expect(decodeLabels(null)).toEqual({});
  });

  it("a label may have any name", () => {
    const labels = Object.fromEntries([
      ["__proto__", "x"],
      ["constructor", "y"],
    ]);
    const back = decodeLabels(encodeLabels(labels));
    expect(Object.entries(back)).toEqual([
      ["__proto__", "x"],
      ["constructor", "y"],
    ]);
  });

  it("damaged text throws", () => {
    for (const text of ["null", '{"a":1}', "1", "{", ""]) expect(() => decodeLabels(text)).toThrow(TypeError);
  });
});

describe("words of a record", () => {
  it("S7 a kind or a state that nobody wrote is damage, and never taken for one that was written", () => {
    expect(["full", "tombstone"].map(kindOf)).toEqual(["full", "tombstone"]);
    expect(["processing", "completed", "failed"].map(stateOf)).toEqual(["processing", "completed", "failed"]);
    for (const word of ["ful", "", null, undefined, "Full", "constructor", "__proto__", 0]) {
      expect(() => kindOf(word)).toThrow(TypeError);
      expect(() => stateOf(word)).toThrow(TypeError);
    }
  });
});

describe("cursors", () => {
  it("S17 any key and hash come back from a cursor", () => {
    const scopeHash = Uint8Array.from({ length: 32 }, (_, index) => index * 8);
    for (const key of ["key", "a.b/c=", "é 漢", ""]) {
      expect(decodeCursor(encodeCursor({ key, scopeHash }))).toEqual({ key, scopeHash });
    }
  });

  it("what no page gave is refused by name", () => {
    for (const cursor of ["", "x", "a.b", "a.b.c", `${"A".repeat(43)}.a.b`]) {
      expect(() => decodeCursor(cursor)).toThrow(expect.objectContaining({ code: "option-invalid" }));
    }
  });
});
