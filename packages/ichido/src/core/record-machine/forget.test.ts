import { describe, expect, it } from "vitest";
import { answer, lapsed, live, nowUs } from "../../../../../test/support/sample-record.ts";
import type { StoredResponse } from "../contract/record.ts";
import { nobody } from "./bounds.ts";
import {
  forgetAction,
  forgetRefusal,
  forgotten,
  forgottenStatus,
  isForgotten,
  forgetRefusalSeen,
  tombstoneOf,
} from "./forget.ts";
import type { WholeRecord } from "./record.ts";
import { stateSeen } from "./view.ts";

const done: WholeRecord = { ...live, state: "completed", leaseUs: 0, response: answer };
const failed: WholeRecord = { ...live, state: "failed", leaseUs: 0 };
const asked = { actor: "alice", reason: "asked for by its customer", fence: 7 };
const moment = { nowUs, fenceFloor: 0 };

describe("a tombstone of a record that was forgotten", () => {
  it("holds a status and a mark, and not a byte of the answer", () => {
    expect(tombstoneOf(201)).toEqual({
      kind: "tombstone",
      status: 201,
      headers: [["ichido-forgotten", "true"]],
      body: new Uint8Array(0),
    });
    expect(tombstoneOf().status).toBe(forgottenStatus);
    expect(forgottenStatus).toBe(410);
  });

  it("is known by its mark alone: an answer too large to keep is another tombstone", () => {
    const tooLarge: StoredResponse = { ...tombstoneOf(201), headers: [["location", "/payments/7"]] };
    const marked: StoredResponse = { ...tombstoneOf(201), headers: [["location", "/7"], ...tombstoneOf().headers] };
    expect([tombstoneOf(), marked].map(isForgotten)).toEqual([true, true]);
    const others = [undefined, answer, tooLarge, { ...tooLarge, headers: [] }];
    expect(others.map(isForgotten)).toEqual([false, false, false, false]);
    expect(isForgotten({ ...tombstoneOf(), kind: "full" }), "a handler may send any header").toBe(false);
  });
});

describe("what may be forgotten", () => {
  const refusal = (record: WholeRecord | undefined, fence = 7) => forgetRefusal(record, { fence }, nowUs);

  it("what nobody works at and nobody has to find out about", () => {
    expect([refusal(done), refusal(failed)]).toEqual([undefined, undefined]);
  });

  it("is refused by what the record is, before it is refused as another than was looked at", () => {
    expect(refusal(undefined)).toBe("absent");
    expect(refusal(live, 8)).toBe("live");
    expect(refusal(lapsed, 8)).toBe("unknown");
    expect(refusal({ ...live, holdReason: "ask the bank" }), "an owner at work, in doubt").toBe("unknown");
    expect(refusal({ ...done, response: tombstoneOf(200) }, 8)).toBe("forgotten");
    expect([refusal(done, 6), refusal(done, 8), refusal(failed, 8)]).toEqual(["stale", "stale", "stale"]);
  });
});

it("whoever only looks at a record is told the same of it, but that it has changed", () => {
  const erased = { ...done, response: tombstoneOf(200) };
  const records = [done, failed, live, lapsed, { ...live, holdReason: "ask the bank" }, erased];
  const seen = records.map((record) =>
    forgetRefusalSeen({ state: stateSeen(record, nowUs), response: record.response }),
  );
  expect(seen).toEqual([undefined, undefined, "live", "unknown", "unknown", "forgotten"]);
  expect(records.map((record) => forgetRefusal(record, record, nowUs))).toEqual(seen);
});

describe("a record that was forgotten", () => {
  const settled = { atMs: 5, actor: "bob", action: "adopt", reason: "the bank has it", fence: 6 };
  const full: WholeRecord = {
    ...done,
    steps: [{ name: "charge", attempt: 1, startedUs: 1, lastStartedUs: 1, finishedUs: 2, result: new Uint8Array([1]) }],
    stepsStarted: 1,
    resources: [{ kind: "payment", id: "7" }],
    audit: [settled],
  };

  it("is done, keeps its status and what it was asked for, and nothing of what it held", () => {
    expect(forgotten(full, asked, moment)).toEqual({
      ...full,
      owner: nobody,
      fence: nowUs,
      leaseUs: 0,
      response: tombstoneOf(200),
      interim: undefined,
      holdReason: undefined,
      steps: [],
      stepsStarted: 0,
      resources: [],
      audit: [
        { ...settled, reason: "" },
        { atMs: nowUs / 1_000, actor: "alice", action: forgetAction, reason: asked.reason, fence: 7 },
      ],
      updatedUs: nowUs,
    });
    expect(forgetAction).toBe("forget");
  });

  it("never runs again, also where it had failed", () => {
    const gone = forgotten(failed, asked, moment);
    expect(gone).toMatchObject({ state: "completed", owner: nobody, response: tombstoneOf(forgottenStatus) });
    expect(forgetRefusal(gone, { fence: gone.fence }, nowUs)).toBe("forgotten");
  });

  it("S6 is fenced against its last owner, whatever the clock and the floor say", () => {
    expect(forgotten({ ...done, fence: nowUs + 9 }, asked, moment).fence).toBe(nowUs + 10);
    expect(forgotten(done, asked, { ...moment, fenceFloor: nowUs + 4 }).fence).toBe(nowUs + 5);
  });

  it("leaves the record it is given as it was", () => {
    const before = structuredClone(full);
    forgotten(full, asked, moment);
    expect(full).toEqual(before);
  });
});
