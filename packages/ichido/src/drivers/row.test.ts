import { expect, test } from "vitest";
import { columnOf } from "./row.ts";

test("a column is found by its name, or by that name in another case", () => {
  expect(columnOf({ key_hash: 1, keyHash: 2 }, "key_hash")).toBe(1);
  for (const name of ["keyHash", "KeyHash", "key-hash", "KEY_HASH"])
    expect(columnOf({ [name]: 1 }, "key_hash")).toBe(1);
});

test("NULL is a value; a column that is not there, or twice, is an error that says what to do", () => {
  expect(columnOf({ key_hash: null }, "key_hash")).toBeNull();
  expect(columnOf({ keyHash: undefined }, "key_hash")).toBeUndefined();
  expect(() => columnOf({ seq: 1 }, "key_hash")).toThrow(/column key_hash is not in the row .* it has seq/);
  expect(() => columnOf({ keyHash: 1, KeyHash: 2 }, "key_hash")).toThrow(/not in the row/);
  expect(() => columnOf([1] as never, "key_hash")).toThrow(/an array/);
  expect(() => columnOf({}, "toString")).toThrow(/no columns/);
});
