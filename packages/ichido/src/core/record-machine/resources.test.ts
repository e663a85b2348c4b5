import fc from "fast-check";
import { expect, test } from "vitest";
import { limits } from "../contract/defaults.ts";
import type { Resource } from "../contract/history.ts";
import { isAmong, withTold } from "./resources.ts";

const payment: Resource = { kind: "payment", id: "7" };
const order: Resource = { kind: "order", id: "7" };
const many = (count: number, from = 0): Resource[] =>
  Array.from({ length: count }, (_, at) => ({ kind: "row", id: String(from + at) }));

test("S20 what is told is added behind what is known, in the order told", () => {
  expect(withTold([], [payment, order])).toEqual([payment, order]);
  expect(withTold([order], [payment])).toEqual([order, payment]);
});

test("S20 what is known, or told twice, is kept once; kind and id together are the name", () => {
  expect(withTold([], [payment, payment, order, payment])).toEqual([payment, order]);
  expect(withTold([payment], [payment, order])).toEqual([payment, order]);
  expect([
    isAmong([payment], "payment", "7"),
    isAmong([payment], "order", "7"),
    isAmong([payment], "payment", "8"),
  ]).toEqual([true, false, false]);
});

test("the same list back where nothing changed", () => {
  const known = [payment];
  expect(withTold(known, undefined)).toBe(known);
  expect(withTold(known, [])).toBe(known);
  expect(withTold(known, [payment, payment])).toBe(known);
});

test("past the bound the first ones stay", () => {
  const full = many(limits.resourcesMax);
  expect(withTold(full, [payment])).toEqual(full);
  expect(withTold([payment], full)).toEqual([payment, ...full.slice(0, -1)]);
  expect(withTold([], many(limits.resourcesMax + 3))).toEqual(full);
});

test("told at once or one by one, the record ends with the same", () => {
  const resource = fc.record({ kind: fc.constantFrom("a", "b"), id: fc.nat(12).map(String) });
  fc.assert(
    fc.property(fc.array(resource, { maxLength: 40 }), (told) => {
      const oneByOne = told.reduce<readonly Resource[]>((known, each) => withTold(known, [each]), []);
      expect(withTold([], told)).toEqual(oneByOne);
      expect(withTold(oneByOne, told)).toEqual(oneByOne);
    }),
  );
});
