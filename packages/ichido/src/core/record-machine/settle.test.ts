import { expect, it } from "vitest";
import { answer, lapsed, live, nowUs } from "../../../../../test/support/sample-record.ts";
import type { WholeRecord } from "./record.ts";
import { settleRefusal, settleRefusalSeen } from "./settle.ts";
import { leaseLeftMs, stateSeen } from "./view.ts";

const records: readonly (readonly [string, WholeRecord, ReturnType<typeof settleRefusalSeen>])[] = [
  ["at work", live, "live"],
  ["at work, in doubt", { ...live, interim: answer }, "live"],
  ["at work, on hold", { ...live, holdReason: "ask the bank" }, "live"],
  ["left by its owner", lapsed, undefined],
  ["on hold", { ...live, leaseUs: 0, holdReason: "ask the bank" }, undefined],
  ["failed", { ...live, state: "failed", leaseUs: 0 }, undefined],
  ["done", { ...live, state: "completed", leaseUs: 0, response: answer }, "completed"],
];

it.each(records)(
  "whoever looks at a record that is %s is told of a decision what the decision is",
  (_, record, told) => {
    const seen = { state: stateSeen(record, nowUs), leaseLeftMs: leaseLeftMs(record, nowUs) };
    expect(settleRefusalSeen(seen)).toBe(told);
    expect(settleRefusal(record, record, nowUs)).toBe(told);
  },
);
