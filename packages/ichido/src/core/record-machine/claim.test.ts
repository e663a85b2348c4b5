import { describe, expect, it } from "vitest";
import { answer, hash, lapsed, live, nowUs, owner } from "../../../../../test/support/sample-record.ts";
import {
  born,
  bornWith,
  completedOf,
  grantedOf,
  grantOf,
  held,
  isBornNow,
  isRefusal,
  isSameRequest,
  judgeClaim,
  processingOf,
  refusalOf,
  refusalWhileLocked,
  sentAgain,
  stillProcessing,
  unknownOf,
} from "./claim.ts";

const moment = { nowUs, trusted: true, fenceFloor: 0 };
const terms = { owner: owner("b"), takeover: "open", leaseMs: 30_000, retentionMs: 86_400_000 } as const;

describe("a record at first sight", () => {
  const prints = { raw: hash(1), canonical: hash(2) };

  it("S1 is in the hands of its owner, with a lease, a retention that counts from now, and nothing in doubt", () => {
    expect(judgeClaim(undefined, terms, prints, moment)).toBe("new");
    expect(born(terms, prints, 0, moment)).toEqual({
      state: "processing",
      owner: "b",
      origin: "new",
      fence: nowUs,
      attempts: 1,
      doubtStays: false,
      leaseUs: nowUs + 30_000_000,
      fingerprint: prints,
      interim: undefined,
      holdReason: undefined,
      response: undefined,
      stepsStarted: 0,
      createdUs: nowUs,
      updatedUs: nowUs,
      expiresUs: nowUs + 86_400_000_000,
    });
  });

  it("S6 S11 its fence is beyond that of the record before it, and a doubt stays only where that is asked for", () => {
    expect(born(terms, prints, nowUs + 4, moment).fence).toBe(nowUs + 5);
    const asked = [true, false].map((doubtStays) => born({ ...terms, doubtStays }, prints, 0, moment).doubtStays);
    expect(asked).toEqual([true, false]);
  });
});

describe("a record that a server made", () => {
  const prints = { raw: hash(1), canonical: hash(2) };

  it("S6 is known by its first fence alone", () => {
    expect(bornWith(nowUs, terms, prints)).toEqual(born(terms, prints, 0, moment));
  });

  it("S2 is new to its owner in the moment of its birth, and to nobody else", () => {
    const made = bornWith(nowUs, terms, prints);
    expect(isBornNow(made, terms, nowUs)).toBe(true);
    expect(isBornNow(made, terms, nowUs + 1), "a claim that was sent again").toBe(false);
    expect(isBornNow({ ...made, fence: nowUs + 1 }, terms, nowUs), "it was taken since").toBe(false);
    expect(isBornNow({ ...made, owner: owner("c") }, terms, nowUs)).toBe(false);
  });
});

describe("a record that is taken", () => {
  const doubtful = { ...lapsed, interim: answer, stepsStarted: 1, steps: [] };

  it.each(["failed", "lapsed", "suspended"] as const)("S4 %s: another owner, attempt, fence and lease", (verdict) => {
    const former = { ...doubtful, state: verdict === "failed" ? "failed" : "processing" } as const;
    expect(held(former, terms, verdict, moment)).toEqual({
      ...former,
      state: "processing",
      owner: "b",
      origin: verdict,
      fence: nowUs,
      attempts: 2,
      leaseUs: nowUs + 30_000_000,
      updatedUs: nowUs,
    });
  });

  it("S2 by its own claim that was sent again: a new lease, and nothing else", () => {
    const again = held(doubtful, { ...terms, owner: doubtful.owner, doubtStays: true }, "resend", moment);
    expect(again).toEqual({ ...doubtful, leaseUs: nowUs + 30_000_000, updatedUs: nowUs });
  });

  it("S11 keeps that its doubt stays, or notes it", () => {
    const stays = (before: boolean, asked: boolean | undefined): boolean =>
      held(
        { ...lapsed, doubtStays: before },
        { ...terms, ...(asked !== undefined && { doubtStays: asked }) },
        "lapsed",
        moment,
      ).doubtStays;
    expect([stays(false, undefined), stays(false, false), stays(false, true)]).toEqual([false, false, true]);
    expect([stays(true, undefined), stays(true, false)]).toEqual([true, true]);
  });
});

describe("what a claim is told", () => {
  const granted = {
    outcome: "granted",
    fence: 7,
    attempt: 1,
    origin: "new",
    stepsStarted: 0,
    canonical: hash(2),
    createdAtMs: (nowUs - 5_000_000) / 1_000,
    expiresAtMs: nowUs / 1_000 + 1,
  } as const;

  it("S2 a grant says how the owner came by the record, and whether it is told so again", () => {
    expect(grantOf(live, hash(2), "new")).toEqual(granted);
    expect(grantOf(live, hash(2), "lapsed")).toEqual(granted);
    expect(grantOf(live, hash(2), "resend")).toEqual({ ...granted, resent: true });
  });

  it("a refusal tells as much of the record as its state allows", () => {
    expect(refusalOf(live, "mismatch", nowUs)).toEqual({ outcome: "mismatch" });
    expect(refusalOf({ ...live, leaseUs: nowUs + 5_000 }, "processing", nowUs)).toEqual({
      outcome: "processing",
      leaseLeftMs: 5,
      attempts: 1,
    });
    const completed = { ...live, state: "completed", response: answer } as const;
    expect(refusalOf({ ...completed, expiresUs: nowUs + 9_000 }, "completed", nowUs)).toEqual({
      outcome: "completed",
      response: answer,
      fence: 7,
      attempts: 1,
      createdAtMs: granted.createdAtMs,
      expiresAtMs: nowUs / 1_000 + 9,
      expiresInMs: 9,
    });
    expect(() => refusalOf({ ...completed, response: undefined }, "completed", nowUs)).toThrow("has no answer");
  });

  it("S4 a doubt is told with its interim answer and its hold, where there are any", () => {
    const doubt = { outcome: "unknown", fence: 7, attempts: 1 };
    expect(refusalOf(lapsed, "unknown", nowUs)).toStrictEqual(doubt);
    const whole = { interim: answer, holdReason: "ask" };
    expect(refusalOf({ ...lapsed, ...whole }, "unknown", nowUs)).toEqual({ ...doubt, ...whole });
  });

  it("S2 by the numbers of a server it is told the same, and no second object is made for it", () => {
    expect(grantedOf(granted, false)).toBe(granted);
    expect(grantedOf(granted, true)).toEqual({ ...granted, resent: true });
    const { fence, createdAtMs, expiresAtMs } = granted;
    const numbers = { fence, attempts: 1, createdAtMs, expiresAtMs, expiresInMs: 9 };
    const answered = { outcome: "completed", response: answer, ...numbers } as const;
    expect(completedOf(answered)).toBe(answered);
    expect(completedOf({ ...answered, expiresInMs: 0 })).toMatchObject({ expiresInMs: 0 });
    expect(completedOf({ ...answered, expiresInMs: -1 }), "past its retention").toEqual({
      ...answered,
      expiresInMs: 0,
    });
  });

  it("S8 a part of a millisecond of lease is told as a whole one, and no less than none", () => {
    const left = [4.001, 4, 0, -1].map((leaseLeftMs) => processingOf(leaseLeftMs, 2));
    expect(left).toEqual([5, 4, 0, 0].map((leaseLeftMs) => ({ outcome: "processing", leaseLeftMs, attempts: 2 })));
  });

  it("S4 a doubt without an interim answer or a hold has no member for it", () => {
    expect(unknownOf(7, 1, undefined, undefined)).toStrictEqual({ outcome: "unknown", fence: 7, attempts: 1 });
    expect(unknownOf(7, 1, answer, "ask")).toMatchObject({ interim: answer, holdReason: "ask" });
  });

  it("of a record that nobody may look at: come back in a second", () => {
    expect(stillProcessing).toEqual({ outcome: "processing", leaseLeftMs: 1_000, attempts: 1 });
  });

  it("S1 S3 while another transaction writes it, refused by what was committed before", () => {
    const asked = { version: 1, raw: hash(1), canonical: hash(2) };
    const other = { version: 1, raw: hash(8), canonical: hash(9) };
    const seen = { fingerprint: asked, attempts: 3 };
    const told = (leaseLeftMs?: number) =>
      refusalWhileLocked({ ...seen, ...(leaseLeftMs !== undefined && { leaseLeftMs }) }, asked);
    expect(refusalWhileLocked(undefined, asked)).toBe(stillProcessing);
    expect(refusalWhileLocked(seen, other)).toEqual({ outcome: "mismatch" });
    expect(told(40)).toEqual({ outcome: "processing", leaseLeftMs: 40, attempts: 3 });
    for (const leftMs of [undefined, 0, -1])
      expect(told(leftMs)).toEqual({ outcome: "processing", leaseLeftMs: 1_000, attempts: 3 });
  });

  it("S2 of a claim that was sent twice, no answer may be all there is", () => {
    const grant = grantOf(live, hash(2), "new");
    expect(sentAgain(grant)).toEqual({ ...grant, unheard: true });
    expect(sentAgain({ outcome: "mismatch" })).toEqual({ outcome: "mismatch", unheard: true });
  });

  it("is a refusal or a grant by its verdict", () => {
    for (const verdict of ["mismatch", "completed", "processing", "unknown"] as const)
      expect(isRefusal(verdict), verdict).toBe(true);
    for (const verdict of ["new", "resend", "failed", "lapsed", "suspended"] as const)
      expect(isRefusal(verdict), verdict).toBe(false);
  });
});

it("S3 hashes are the same as bytes of one length or as texts, and nothing is the same as none", () => {
  const prints = (raw: string | Uint8Array) => ({ raw, canonical: hash(0) });
  const isSame = (one: string | Uint8Array, other: string | Uint8Array): boolean =>
    isSameRequest(prints(one), { ...prints(other), canonical: hash(9) });
  expect([isSame("ab", "ab"), isSame(hash(1), hash(1))]).toEqual([true, true]);
  expect([isSame("ab", "ac"), isSame(hash(1), hash(2))]).toEqual([false, false]);
  expect([isSame("ab", hash(1)), isSame(hash(1), "ab")], "one as text, the other as bytes").toEqual([false, false]);
  expect([isSame("", new Uint8Array()), isSame(new Uint8Array(), "")], "both empty").toEqual([false, false]);
  expect([isSame(hash(1), hash(1).slice(1)), isSame(hash(1).slice(1), hash(1))]).toEqual([false, false]);
  const last = hash(1).fill(2, 31);
  expect(isSame(hash(1), last)).toBe(false);
  const bare = { raw: "1", canonical: "2" };
  expect(isSameRequest(bare, { raw: "3", canonical: "4" }), "neither has a former hash").toBe(false);
});
