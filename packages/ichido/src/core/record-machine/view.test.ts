import { describe, expect, it } from "vitest";
import { answer, hash, lapsed, live, nowUs } from "../../../../../test/support/sample-record.ts";
import type { Identity, Key } from "../contract/record.ts";
import type { ListQuery } from "../contract/store.ts";
import {
  createTally,
  dueUs,
  isDue,
  isExpired,
  isForsaken,
  isLive,
  isNews,
  isNewsSince,
  isSealed,
  leaseEndMaxUs,
  leaseLeftMs,
  matches,
  outstays,
  recordView,
  retentionLeftMs,
  stepTold,
  stepView,
  summed,
} from "./view.ts";

const names = { tenant: "t", principal: "p", operation: "o" };
const whose: Identity = { key: "k" as Key, scopeHash: hash(3), ...names };
const step = { name: "pay", attempt: 2, startedUs: nowUs - 9_000, lastStartedUs: nowUs - 4_000 };

it("S13 a query meets a record by every one of its members", () => {
  type Query = Omit<ListQuery, "limit">;
  const resource = (kind: string, id: string) => ({ resource: { kind, id } });
  const first = { labels: { customer: "c" }, resources: [{ kind: "payment", id: "p-1" }] };
  const found = (query: Query) => matches(whose, first, live, { ...query, limit: 10 }, nowUs);
  const label = (name: string, value: string) => ({ label: { name, value } });
  const all: Query = {
    key: "k",
    ...names,
    ...label("customer", "c"),
    ...resource("payment", "p-1"),
    state: "processing",
  };
  expect(found({})).toBe(true);
  expect(found(all)).toBe(true);
  const others: readonly Query[] = [
    ...["tenant", "principal", "operation", "key"].map((name) => ({ [name]: "x" })),
    label("customer", "x"),
    label("order", "c"),
    resource("payment", "p-2"),
    resource("order", "p-1"),
    { state: "unknown" },
    { state: "completed" },
  ];
  for (const other of others) {
    expect(found(other), JSON.stringify(other)).toBe(false);
    expect(found({ ...all, ...other }), JSON.stringify(other)).toBe(false);
  }
  expect(matches(whose, { labels: {} }, lapsed, { state: "unknown", limit: 10 }, nowUs)).toBe(true);
});

describe("a record as it is shown", () => {
  const fingerprint = { version: 1, raw: hash(1), canonical: hash(2) };
  const claim = { identity: whose, fingerprint, labels: { customer: "c" } };
  const shown = {
    ...claim,
    state: "processing",
    owner: "a",
    fence: 7,
    attempts: 1,
    stepsStarted: 0,
    createdAtMs: nowUs / 1_000 - 5_000,
    updatedAtMs: nowUs / 1_000 - 1,
    expiresAtMs: nowUs / 1_000 + 1,
  };
  const answers = { interim: answer, response: answer };

  it("S13 under way: what is left of the lease and how it was come by, and no answer but an interim one", () => {
    expect(recordView(claim, live, nowUs)).toStrictEqual({ ...shown, leaseLeftMs: 1, origin: "new" });
    expect(recordView(claim, { ...lapsed, ...answers, holdReason: "ask" }, nowUs)).toEqual({
      ...shown,
      state: "unknown",
      leaseLeftMs: 0,
      origin: "new",
      interim: answer,
      holdReason: "ask",
    });
  });

  it("S13 at its end: of answers the one that was given, and no lease", () => {
    expect(recordView(claim, { ...live, ...answers, state: "completed" }, nowUs)).toEqual({
      ...shown,
      state: "completed",
      response: answer,
    });
    expect(recordView(claim, { ...live, state: "completed" }, nowUs)).toStrictEqual({ ...shown, state: "completed" });
    expect(recordView(claim, { ...live, ...answers, state: "failed" }, nowUs)).toEqual({ ...shown, state: "failed" });
  });

  it("S15 a step with both its ages, and with its result once it has one", () => {
    const ages = { startedAtMs: nowUs / 1_000 - 9, lastStartedAtMs: nowUs / 1_000 - 4, ageMs: 4, firstAgeMs: 9 };
    const begun = { name: "pay", attempt: 2, ...ages };
    const unfinished = { ...step, finishedUs: undefined, result: undefined };
    expect(stepView(unfinished, nowUs)).toEqual({ ...begun, state: "started" });
    const finished = { ...step, finishedUs: nowUs, result: hash(1) };
    const end = { state: "finished", finishedAtMs: nowUs / 1_000 };
    expect(stepView(finished, nowUs)).toEqual({ ...begun, ...end, result: hash(1) });
    expect(stepView({ ...finished, result: undefined }, nowUs).result).toEqual(new Uint8Array());
    expect(stepView(unfinished, nowUs - 20_000), "a clock that went back").toMatchObject({ ageMs: 0, firstAgeMs: 0 });
  });

  it("S15 a step by the ages that a server tells, none of them below zero", () => {
    const times = { startedAtMs: 3, lastStartedAtMs: 8 };
    const begun = { name: "pay", attempt: 2, ...times, ageMs: -1, firstAgeMs: 5 };
    expect(stepTold(begun, undefined)).toStrictEqual({ ...begun, state: "started", ageMs: 0 });
    expect(stepTold({ ...begun, ageMs: 1, firstAgeMs: -1 }, { finishedAtMs: 9, result: hash(1) })).toStrictEqual({
      ...begun,
      state: "finished",
      ageMs: 1,
      firstAgeMs: 0,
      finishedAtMs: 9,
      result: hash(1),
    });
  });

  it("what others wait for is an end of the lease or of the work, not a renewal", () => {
    const ended = [
      { ...live, leaseUs: 0 },
      { ...live, state: "completed" as const },
    ];
    expect([live, lapsed, ...ended].map(isNews)).toEqual([false, false, true, true]);
  });

  it("S18 who looks by itself has news when nobody is at work, or the record is another one", () => {
    expect(isNewsSince("7", { mark: "7", isLive: true })).toBe(false);
    expect(isNewsSince("7", { mark: "8", isLive: true })).toBe(true);
    expect(isNewsSince("7", { mark: "7", isLive: false })).toBe(true);
  });
});

it("S17 nothing is left of a lease in whose moment it ends, nor where nobody is at work", () => {
  const left = [lapsed, { ...live, leaseUs: 0 }, { ...live, state: "completed" as const, leaseUs: nowUs - 7_000 }];
  expect(left.map((record) => leaseLeftMs(record, nowUs))).toEqual([0, 0, 0]);
});

it("S17 an answer or a hold seals a record that is under way, and no other", () => {
  const doubts = [{}, { interim: answer }, { holdReason: "ask" }];
  expect(doubts.map((doubt) => isSealed({ ...live, ...doubt }))).toEqual([false, true, true]);
  expect(doubts.map((doubt) => isSealed({ ...live, ...doubt, state: "failed" }))).toEqual([false, false, false]);
});

it("S11 a released record without steps is not kept for their results", () => {
  const released = { ...live, state: "failed", createdUs: 0, expiresUs: 1 } as const;
  expect([isForsaken({ ...released, stepsStarted: 1 }, nowUs), isForsaken(released, nowUs)]).toEqual([true, false]);
});

it("S11 a record whose lease is longer than its retention is due with its lease", () => {
  expect([1, 2_000].map((leftUs) => dueUs({ ...live, leaseUs: nowUs + leftUs }))).toEqual([
    nowUs + 1_000,
    nowUs + 2_000,
  ]);
});

it("S11 what is due may go, and not a moment sooner", () => {
  const records = [
    { ...lapsed, expiresUs: nowUs },
    { ...live, state: "failed" as const, expiresUs: nowUs },
  ];
  for (const record of records) {
    for (const at of [nowUs - 1, nowUs]) expect(isDue(dueUs(record) ?? Infinity, at)).toBe(isExpired(record, at));
  }
});

it("S11 what is needed outstays its retention, from the moment after it", () => {
  const needed = { ...lapsed, doubtStays: true };
  expect([needed.expiresUs, needed.expiresUs + 1].map((thenUs) => outstays(needed, thenUs))).toEqual([false, true]);
  expect(outstays(lapsed, lapsed.expiresUs + 1)).toBe(false);
});

it("S8 a lease lives to the end of the longest one that is believed", () => {
  const mostUs = leaseEndMaxUs(nowUs);
  expect([mostUs, mostUs + 1].map((leaseUs) => isLive({ ...live, leaseUs }, nowUs))).toEqual([true, false]);
});

it("S17 a record is counted once, by the state in which it is seen", () => {
  const counts = { processing: 1, completed: 20, failed: 300, unknown: 4_000, bodyBytes: 7 };
  const sizes = { ...counts, sweepLagMs: 8, oldestUnknownMs: 9, estimated: true as const };
  expect(summed(sizes)).toEqual({ ...sizes, records: 4_321 });
});

it("S17 a tally counts the age of doubts alone, and how long those past their retention wait for a sweep", () => {
  const tally = createTally();
  tally.add({ ...live, createdUs: 0 }, 0, nowUs);
  tally.add({ ...lapsed, createdUs: nowUs - 3_000, expiresUs: nowUs + 1 }, 0, nowUs);
  expect(tally.sum()).toMatchObject({ processing: 1, unknown: 1, oldestUnknownMs: 3, sweepLagMs: 0 });
  tally.add({ ...live, leaseUs: nowUs + 9_000, expiresUs: nowUs - 8_000 }, 0, nowUs);
  expect(tally.sum(), "its owner is at work").toMatchObject({ processing: 2, sweepLagMs: 0 });
  tally.add({ ...live, state: "failed", expiresUs: nowUs - 2_000 }, 0, nowUs);
  expect(tally.sum()).toMatchObject({ failed: 1, sweepLagMs: 2 });
});

it("S9 what is left of a retention is told in ms, and is never less than nothing", () => {
  expect(retentionLeftMs({ expiresUs: nowUs + 5_000 }, nowUs)).toBe(5);
  expect(retentionLeftMs({ expiresUs: nowUs - 5_000 }, nowUs)).toBe(0);
});
