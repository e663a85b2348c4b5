import { expect, test } from "vitest";
import type { StoredResponse } from "../record.ts";
import { leaseAbsurdUs } from "./bounds.ts";
import { answersOf, leaseSeen } from "./view.ts";

test("a lease that was given while the reader waited is no sign of a clock that went back", () => {
  const waitUs = 1_000_000;
  expect(leaseSeen(500, 100, waitUs)).toBe(500);
  expect(leaseSeen(leaseAbsurdUs + waitUs, 0, waitUs)).toBe(leaseAbsurdUs);
  expect(leaseSeen(leaseAbsurdUs + waitUs + 1, 0, waitUs)).toBe(leaseAbsurdUs + waitUs + 1);
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
