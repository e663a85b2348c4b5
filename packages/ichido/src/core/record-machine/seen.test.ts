import { expect, test } from "vitest";
import type { StoredResponse } from "../contract/record.ts";
import { leaseAbsurdUs } from "./bounds.ts";
import { leavesDoubt } from "./owned.ts";
import { tickSeen } from "./ticks.ts";
import { answersOf, leaseSeen, stateWritten } from "./view.ts";

test("a lease that was given while the reader waited is no sign of a clock that went back", () => {
  const waitUs = 1_000_000;
  expect(leaseSeen(500, 100, waitUs)).toBe(500);
  expect(leaseSeen(leaseAbsurdUs + waitUs, 0, waitUs)).toBe(leaseAbsurdUs);
  expect(leaseSeen(leaseAbsurdUs + waitUs + 1, 0, waitUs)).toBe(leaseAbsurdUs + waitUs + 1);
});

test("a tick that was written while the reader waited is no sign of a clock that went back", () => {
  expect(tickSeen(90, 100, 10)).toBe(90);
  expect(tickSeen(110, 100, 10)).toBe(100);
  expect(tickSeen(111, 100, 10)).toBe(111);
});

test("nobody writes that a record is in doubt", () => {
  expect(stateWritten("unknown")).toBe("processing");
  expect(stateWritten("failed")).toBe("failed");
  expect(stateWritten(undefined)).toBeUndefined();
});

test("a suspension leaves a doubt where it says something", () => {
  const interim: StoredResponse = { kind: "full", status: 202, headers: [], body: new Uint8Array() };
  expect([{}, { interim }, { holdReason: "ask" }].map(leavesDoubt)).toEqual([false, true, true]);
});

test.each([
  ["processing", "interim"],
  ["completed", "response"],
  ["failed", undefined],
] as const)("the one answer of a record that is %s: %s", (state, member) => {
  const answer: StoredResponse = { kind: "full", status: 200, headers: [], body: new Uint8Array() };
  const answers = answersOf(state, answer);
  expect(Object.entries(answers).flatMap(([name, value]) => (value === undefined ? [] : [name]))).toEqual(
    member === undefined ? [] : [member],
  );
});
