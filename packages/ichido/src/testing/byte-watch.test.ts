import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { watchBytes } from "./byte-watch.ts";

describe("byte watch", () => {
  test("finds the pattern however the stream is cut into chunks, at the right place, once", () => {
    const text = fc.stringMatching(/^[xyCO]{0,20}$/);
    fc.assert(
      fc.property(text, text, fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1 }), (before, after, sizes) => {
        const pattern = "COMMIT";
        const whole = Buffer.from(`${before}${pattern}${after}`);
        const watch = watchBytes(pattern);
        const found: number[] = [];
        for (let at = 0, turn = 0; at < whole.length; turn += 1) {
          const size = sizes[turn % sizes.length] ?? 1;
          const match = watch.look(whole.subarray(at, at + size));
          if (match !== undefined) found.push(at + match.start);
          at += size;
        }
        expect(found).toEqual([before.length]);
      }),
    );
  });

  test("counts two occurrences in two chunks as two", () => {
    const watch = watchBytes("ab");
    expect(watch.look(Buffer.from("xab"))).toEqual({ start: 1, end: 3 });
    expect(watch.look(Buffer.from("abx"))).toEqual({ start: 0, end: 2 });
    expect(watch.look(Buffer.from("b"))).toBeUndefined();
  });

  test("refuses an empty pattern", () => {
    expect(() => watchBytes("")).toThrow(/empty/);
  });
});
