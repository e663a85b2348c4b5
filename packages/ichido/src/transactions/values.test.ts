import { expect, test } from "vitest";
import { boundBy, sqliteValue } from "./values.ts";

test("SQLite is given times as text and truth as a number; bytes and plain values stay", () => {
  const bytes = new Uint8Array([1]);
  const values = [new Date(0), true, false, "x", 1.5, 5n, null, bytes];
  expect(values.map(sqliteValue)).toEqual(["1970-01-01T00:00:00.000Z", 1, 0, "x", 1.5, 5n, null, bytes]);
});

test.each([{ $a: 1 }, ["x"], new Map(), new Date(Number.NaN)])("%o is refused before it is bound", (value) => {
  expect(() => sqliteValue(value)).toThrow();
});

test("texts for MySQL stand in the statement in hexadecimal, everything else keeps its place", () => {
  const bytes = new Uint8Array([1, 2]).subarray(1);
  expect(boundBy("mysql", "a = ? and b = '?' and c = ? and d = ?", ["it's", 5, bytes])).toEqual({
    sql: "a = _utf8mb4 X'69742773' and b = '?' and c = ? and d = ?",
    values: [5, Buffer.from([2])],
  });
  expect(boundBy("mysql", "?, ?", ["", "é"])).toEqual({ sql: "_utf8mb4 X'', _utf8mb4 X'c3a9'", values: [] });
  expect(() => boundBy("mysql", "?", [{ approved: 1 }])).toThrow(/an object/);
  expect(() => boundBy("mysql", "?", [["x"]])).toThrow(/an array/);
});
