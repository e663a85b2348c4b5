import { expect, test } from "vitest";
import { PassedKeys } from "./passed-keys.ts";

function sentOften(keys: PassedKeys, keyHash: string, last: number): void {
  for (let seq = last - 9; seq <= last; seq += 1) keys.sent({ keyHash, seq });
}

test("a key is named once much of it was sent, for floors below what was sent last", () => {
  const keys = new PassedKeys();
  keys.sent({ keyHash: "seldom", seq: 50 });
  sentOften(keys, "often", 50);
  expect(keys.above(49)).toEqual(["often"]);
  expect(keys.above(50)).toEqual([]);
});

test("an event without a key is nobody's", () => {
  const keys = new PassedKeys();
  for (let seq = 1; seq <= 10; seq += 1) keys.sent({ keyHash: undefined, seq });
  expect(keys.above(0)).toEqual([]);
});

test("a thousand keys are remembered, those that were sent last", () => {
  const keys = new PassedKeys();
  for (let at = 0; at <= 1_000; at += 1) sentOften(keys, `k${at}`, 100 + at);
  const named = keys.above(0);
  expect(named).toHaveLength(1_000);
  expect(named).not.toContain("k0");
  expect(named).toContain("k1000");
});

test("a session that is lost takes them along", () => {
  const keys = new PassedKeys();
  sentOften(keys, "often", 50);
  keys.forget();
  expect(keys.above(0)).toEqual([]);
});
