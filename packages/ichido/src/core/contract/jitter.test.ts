import { expect, test } from "vitest";
import { systemEnvironment } from "./environment.ts";
import { around, doubledMs, upperHalfOf, upTo } from "./jitter.ts";

/** All bits of every byte: the greatest fraction; none: the least. */
const drawing = (byte: number) => ({
  ...systemEnvironment,
  randomBytes: (size: number) => new Uint8Array(size).fill(byte),
});

test("a wait doubles with every failure, up to its bound", () => {
  expect([1, 2, 3, 4, 99].map((failures) => doubledMs(100, failures, 500))).toEqual([100, 200, 400, 500, 500]);
  expect(doubledMs(100, 1_000)).toBe(100 * 2 ** 30);
});

test.each([
  [upTo, 0, 100],
  [upperHalfOf, 50, 100],
  [around, 50, 150],
])("%o draws from the least to the most", (draw, least, most) => {
  expect(draw(drawing(0), 100)).toBe(least);
  expect(draw(drawing(255), 100)).toBeCloseTo(most, 3);
});
