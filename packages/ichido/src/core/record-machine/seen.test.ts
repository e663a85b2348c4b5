import { describe, expect, it, test } from "vitest";
import { answer, hash, lapsed as lapsing, live, nowUs, owner } from "../../../../../test/support/sample-record.ts";
import type { Key, StoredResponse } from "../contract/record.ts";
import type { StoredRecord } from "../contract/store.ts";
import { leaseAbsurdUs } from "./bounds.ts";
import { judgeClaim } from "./claim.ts";
import { leavesDoubt } from "./owned.ts";
import { cameLater, type WholeRecord } from "./record.ts";
import {
  answerGoodForMs,
  claimFinds,
  goesBackAs,
  isAsSeen,
  isAtWork,
  isLeftBy,
  isOnHold,
  isSeenByFence,
  isUnfinished,
  lapsedForMs,
  leaseTold,
  retentionToldMs,
  type Found,
} from "./seen.ts";
import { decided } from "./settle.ts";
import { tickSeen } from "./ticks.ts";
import { answersOf, isLive, leaseSeen, recordView, stateWritten } from "./view.ts";

const whose = { key: "k" as Key, scopeHash: hash(3), tenant: undefined, principal: undefined, operation: "o" };
const fingerprint = { version: 1, raw: hash(1), canonical: hash(2) };
const seen = (record: WholeRecord): StoredRecord =>
  recordView({ identity: whose, fingerprint, labels: {} }, record, nowUs);

const lapsed: WholeRecord = { ...lapsing, leaseUs: nowUs - 2_000_000 };
const ended: WholeRecord = { ...live, leaseUs: 0 };
const records: Readonly<Record<string, WholeRecord>> = {
  live,
  lapsed,
  ended,
  "live, with an interim answer": { ...live, interim: answer },
  "live, on hold": { ...live, holdReason: "ask the bank" },
  "ended, with an interim answer": { ...ended, interim: answer },
  "lapsed, on hold": { ...lapsed, holdReason: "ask the bank" },
  completed: { ...ended, state: "completed", response: answer },
  failed: { ...ended, state: "failed" },
};

describe("a lease that was looked at", () => {
  it.each([
    [undefined, undefined, 0],
    [1_500, { is: "live", ms: 1_500 }, -1_500],
    [0, { is: "ended", ms: 0 }, 0],
    [-1_500, { is: "lapsed", ms: 1_500 }, 1_500],
  ] as const)("tells by what is left of it, %s ms, how it stands", (leaseLeftMs, told, lapsedMs) => {
    const record = leaseLeftMs === undefined ? {} : { leaseLeftMs };
    expect(leaseTold(record)).toEqual(told);
    expect(isAtWork(record)).toBe(told?.is === "live");
    expect(lapsedForMs(record)).toBe(lapsedMs);
  });

  it("lives exactly while the record's owner does", () => {
    for (const [name, record] of Object.entries(records))
      expect([name, isAtWork(seen(record))]).toEqual([name, isLive(record, nowUs)]);
  });
});

describe("what the next claim finds", () => {
  const meanings: Readonly<Partial<Record<ReturnType<typeof judgeClaim>, Found>>> = {
    new: "free",
    failed: "free",
    completed: "answer",
    processing: "owner",
    unknown: "sealed",
    lapsed: "doubt",
  };

  it.each([["absent", undefined], ...Object.entries(records)] as const)("is what it is judged by: %s", (_, record) => {
    const moment = { nowUs, trusted: true };
    const verdict = judgeClaim(record, { owner: owner("b"), takeover: "lapsed" }, fingerprint, moment);
    expect(claimFinds(record && seen(record))).toBe(meanings[verdict]);
  });
});

test("a record is on hold where a reason says so, whatever became of its lease", () => {
  const held = Object.entries(records).filter(([, record]) => isOnHold(seen(record)));
  expect(held.map(([name]) => name)).toEqual(["live, on hold", "lapsed, on hold"]);
});

describe("a claim whose answer was lost", () => {
  const owners = new Set([owner("a")]);

  it("is still there while its lease lives or lapsed by itself, and no other owner came", () => {
    expect([live, lapsed].map((record) => isLeftBy(seen(record), owners))).toEqual([true, true]);
    const over = [ended, records["completed"] ?? ended, records["failed"] ?? ended];
    expect(over.map((record) => isLeftBy(seen(record), owners))).toEqual([false, false, false]);
    expect(isLeftBy(seen({ ...live, owner: owner("b") }), owners)).toBe(false);
  });

  it("goes back as it was come by, and in doubt where it ran or where nobody tells", () => {
    expect(goesBackAs({ fence: 7, origin: "new" })).toBe("new");
    expect(goesBackAs({ fence: 7, origin: "suspended" }, 0)).toBe("suspended");
    expect(goesBackAs({ fence: 7, origin: "failed" }, 6)).toBe("failed");
    expect(goesBackAs({ fence: 7, origin: "new" }, 7)).toBe("lapsed");
    expect(goesBackAs({ fence: 7 })).toBe("lapsed");
  });
});

describe("what changed since a look", () => {
  it("is told by the fence, also where the record has gone", () => {
    expect([isAsSeen(live, live), isAsSeen({ fence: 8 }, live), isAsSeen(undefined, live)]).toEqual([
      true,
      false,
      false,
    ]);
  });

  it("is not told by the fence where it is a hold, and is by all other decisions", () => {
    const moment = { nowUs, fenceFloor: 0 };
    for (const decision of [{ kind: "hold" }, { kind: "release" }, { kind: "adopt", response: answer }] as const) {
      const after = seen(decided(lapsed, { decision, reason: "the bank" }, moment));
      expect([decision.kind, isSeenByFence(after)]).toEqual([decision.kind, !isAsSeen(after, lapsed)]);
    }
  });

  it("S6 came from the owner with the greater fence, whoever ends first", () => {
    expect([cameLater({ fence: 8 }, live), cameLater({ fence: 7 }, live), cameLater({ fence: 6 }, live)]).toEqual([
      true,
      false,
      false,
    ]);
  });
});

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

test("an answer is good for its retention where the record was made by this claim, else only the store knows", () => {
  const lifetime = { createdAtMs: 1_000, expiresAtMs: 61_000 };
  expect(retentionToldMs(lifetime)).toBe(60_000);
  const told = (["new", "failed", "lapsed", "suspended"] as const).map((origin) =>
    answerGoodForMs({ ...lifetime, origin }),
  );
  expect(told).toEqual([60_000, undefined, undefined, undefined]);
});

test("a step is unfinished until its result is noted", () => {
  expect((["started", "finished"] as const).map((state) => isUnfinished({ state }))).toEqual([true, false]);
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
  const answers = answersOf(state, answer);
  expect(Object.entries(answers).flatMap(([name, value]) => (value === undefined ? [] : [name]))).toEqual(
    member === undefined ? [] : [member],
  );
});
