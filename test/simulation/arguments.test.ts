/** A slip at the command line is told of: what was played instead would look like a proof. */
import { spawnChild } from "ichido/testing";
import { expect, test } from "vitest";
import { refuseUnheeded, wholeNumber } from "../../simulation/arguments.ts";

test.each([
  [["--seed", "x"], 'RangeError: --seed: expected a whole number from 0 on, got "x"'],
  [
    ["--seed", "7", "--twice"],
    "RangeError: --seed: expected beside it --part, --ignore, --whole, --quiet, got --twice",
  ],
])("%j plays nothing", async (args, message) => {
  const child = await spawnChild(new URL("../../simulation/main.ts", import.meta.url), { args });
  const { code } = await child.exited;
  expect(child.lines).toContain(message);
  expect(child.lines.join("\n")).not.toContain("hash");
  expect(code).toBe(1);
});

test.each(["", " 7", "x", "-1", "1.5", "1e3", "0x10", "NaN", "9007199254740993"])("%j is no whole number", (text) => {
  const message = `--from: expected a whole number from 0 on, got ${JSON.stringify(text)}`;
  expect(() => wholeNumber("from", text, 0)).toThrow(new RangeError(message));
});

test("a whole number is taken from its least value on", () => {
  expect(wholeNumber("from", "0", 0)).toBe(0);
  expect(wholeNumber("seed", "9007199254740991", 0)).toBe(Number.MAX_SAFE_INTEGER);
  expect(() => wholeNumber("seeds", "0", 1)).toThrow("--seeds: expected a whole number from 1 on, got");
});

test.each([
  ["seed", "turns"],
  ["seed", "seeds"],
  ["turns", "twice"],
  ["turns", "ignore"],
  ["workers", "twice"],
  ["workers", "ignore"],
  ["seeds", "summary"],
])("beside --%s, --%s would not be heeded", (way, other) => {
  expect(() => refuseUnheeded([other, way])).toThrow(new RegExp(`^--${way}: expected beside it .*, got --${other}$`));
});

test.each([
  [],
  ["part", "from"],
  ["seeds", "all", "twice"],
  ["seeds", "turns"],
  ["workers", "seeds", "from", "summary", "json"],
  ["seed", "whole", "part"],
])("what is heeded is taken: %j", (...given) => {
  expect(() => refuseUnheeded(given)).not.toThrow();
});
