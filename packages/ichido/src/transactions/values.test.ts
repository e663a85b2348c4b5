import { expect, test } from "vitest";
import { sqliteValue } from "./values.ts";

test("SQLite is given times as text and truth as a number; bytes and plain values stay", () => {
  const bytes = new Uint8Array([1]);
  const values = [new Date(0), true, false, "x", 1.5, 5n, null, bytes];
  expect(values.map(sqliteValue)).toEqual(["1970-01-01T00:00:00.000Z", 1, 0, "x", 1.5, 5n, null, bytes]);
});

test.each([{ $a: 1 }, ["x"], new Map(), new Date(Number.NaN)])("%o is refused before it is bound", (value) => {
  expect(() => sqliteValue(value)).toThrow();
});
