import { describe, expect, it } from "vitest";
import { answer, hash, lapsed, live, nowUs, owner } from "../../../../../test/support/sample-record.ts";
import { limits } from "../contract/defaults.ts";
import { leaseAbsurdUs, nobody } from "./bounds.ts";
import { judgeClaim, noted, refusalOf, type ClaimVerdict } from "./claim.ts";
import { complete, finishStep, landedOf, mayLeaveLease, release, renew, startStep, suspend } from "./owned.ts";
import { floorAfter, nextFence, originKept, originOf, type WholeRecord } from "./record.ts";
import { settle } from "./settle.ts";
import { isTrusted, nextTick } from "./ticks.ts";
import { createTally, dueUs, isExpired, isForsaken, isUnknown, leaseLeftMs } from "./view.ts";

const old = { expiresUs: nowUs };
const same = { raw: hash(1), canonical: hash(2) };
const other = { raw: hash(8), canonical: hash(9) };
const held = { holdReason: "ask" };
const interim = { interim: answer };

function judge(
  record: WholeRecord,
  parts: { takeover?: "none" | "lapsed" | "open"; owner?: string; fingerprint?: object } = {},
  trusted = true,
): ClaimVerdict {
  const terms = { owner: owner(parts.owner ?? "b"), takeover: parts.takeover ?? "lapsed" };
  return judgeClaim(record, terms, { ...same, ...parts.fingerprint }, { nowUs, trusted });
}

describe("judgeClaim", () => {
  it("S9 tests retention before the fingerprint, and only where the clock is trusted", () => {
    const completed: WholeRecord = { ...live, ...old, state: "completed" };
    expect(judge(completed, { fingerprint: other })).toBe("new");
    expect(judge(completed, { fingerprint: other }, false)).toBe("mismatch");
    expect(judge(completed, {}, false)).toBe("completed");
  });

  it("S11 nothing under way, with a started step or in doubt expires", () => {
    expect(judge({ ...live, ...old })).toBe("processing");
    expect(judge({ ...lapsed, ...old, stepsStarted: 1 })).toBe("lapsed");
    expect(judge({ ...lapsed, ...old, ...held })).toBe("unknown");
    expect(judge({ ...lapsed, ...old, ...interim })).toBe("unknown");
    expect(judge({ ...lapsed, ...old, doubtStays: true })).toBe("lapsed");
    expect(judge({ ...lapsed, ...old, state: "failed", doubtStays: true })).toBe("new");
    expect(judge({ ...lapsed, ...old, state: "failed", stepsStarted: 1 })).toBe("failed");
    expect(judge({ ...lapsed, ...old })).toBe("new");
    expect(judge({ ...lapsed, ...old, state: "completed", stepsStarted: 1 })).toBe("new");
  });

  it("S3 a mismatch beats every state", () => {
    for (const state of ["processing", "completed", "failed"] as const) {
      expect(judge({ ...live, state }, { fingerprint: other })).toBe("mismatch");
      expect(judge({ ...lapsed, state }, { fingerprint: other, owner: "a", takeover: "open" })).toBe("mismatch");
    }
  });

  it("S3 equal raw bytes, equal meaning, or the former version's hash on either side are the same request", () => {
    const record: WholeRecord = { ...live, fingerprint: { ...same, former: hash(3) } };
    for (const fingerprint of [
      { ...other, raw: hash(1) },
      { ...other, canonical: hash(2) },
      { ...other, former: hash(2) },
      { ...other, canonical: hash(3) },
    ]) {
      expect(judge(record, { fingerprint })).toBe("processing");
    }
    expect(judge(record, { fingerprint: { ...other, former: hash(3) } })).toBe("mismatch");
    expect(judge(live, { fingerprint: { ...other, canonical: hash(1) } }), "a raw hash is no canonical one").toBe(
      "mismatch",
    );
  });

  it("S2 the owner's own claim is recognised, also after its lease lapsed", () => {
    for (const record of [live, lapsed, { ...live, ...interim }]) {
      expect(judge(record, { owner: "a", takeover: "none" })).toBe("resend");
    }
    expect(judge({ ...live, state: "completed" }, { owner: "a" })).toBe("completed");
  });

  it("S4 a lapsed record goes by takeover, one with an interim answer by open, one on hold to nobody", () => {
    const doubtful = { ...lapsed, ...interim };
    const verdicts = (record: WholeRecord) =>
      (["none", "lapsed", "open"] as const).map((takeover) => judge(record, { takeover }));
    expect(verdicts(live)).toEqual(["processing", "processing", "processing"]);
    expect(verdicts(lapsed)).toEqual(["unknown", "lapsed", "lapsed"]);
    expect(verdicts(doubtful)).toEqual(["unknown", "unknown", "suspended"]);
    for (const record of [
      { ...lapsed, ...held },
      { ...doubtful, ...held },
    ]) {
      expect(verdicts(record)).toEqual(["unknown", "unknown", "unknown"]);
      expect(judge(record, { owner: "a" })).toBe("unknown");
    }
    expect(verdicts({ ...live, state: "failed" })).toEqual(["failed", "failed", "failed"]);
    expect(judge(doubtful, { owner: "a" }), "an owner that left it in doubt").toBe("unknown");
  });

  it("S8 a lease further ahead than twice the longest one counts as lapsed", () => {
    expect(leaseAbsurdUs).toBe(2 * limits.leaseMsMax * 1_000);
    expect(judge({ ...live, leaseUs: nowUs + leaseAbsurdUs })).toBe("processing");
    expect(judge({ ...live, leaseUs: nowUs + leaseAbsurdUs + 1 })).toBe("lapsed");
  });

  it("tells a replay no more than nothing left of an answer that the guard keeps", () => {
    const record: WholeRecord = { ...live, ...old, state: "completed", response: answer };
    expect(refusalOf(record, "completed", nowUs + 9_000)).toMatchObject({ expiresInMs: 0, response: answer });
  });
});

describe("noted", () => {
  const wish = { doubtStays: true };

  it("S11 a claim that is told of a doubt notes that it must outlive its retention, and nothing else", () => {
    for (const record of [lapsed, { ...lapsed, ...interim }, { ...lapsed, leaseUs: 0 }]) {
      expect(noted(record, wish, "unknown")).toEqual({ ...record, doubtStays: true });
    }
  });

  it("S11 any other refusal, and one without that wish, leaves the very same record", () => {
    const marked = { ...lapsed, doubtStays: true };
    expect(noted(marked, wish, "unknown")).toBe(marked);
    for (const terms of [{}, { doubtStays: false }]) {
      expect(noted(lapsed, terms, "unknown")).toBe(lapsed);
      expect(noted(marked, terms, "unknown")).toBe(marked);
    }
    for (const verdict of ["mismatch", "completed", "processing"] as const)
      expect(noted(live, wish, verdict)).toBe(live);
  });
});

describe("the owner's verbs", () => {
  const proof = { owner: owner("a"), fence: 7 };
  const lease = { ...proof, leaseMs: 30_000 };

  it("S5 take effect for the owner and the fence that hold the record now", () => {
    const others = [
      { ...lease, owner: owner("b") },
      { ...lease, fence: 8 },
    ];
    for (const stranger of others) {
      const asked = { ...stranger, response: answer, name: "pay", result: hash(1) };
      for (const record of [live, undefined]) {
        const answers = [
          renew(record, asked, nowUs),
          complete(record, asked, nowUs),
          release(record, asked, nowUs),
          suspend(record, asked, nowUs),
          startStep(record, asked, nowUs),
          finishStep(record, asked, nowUs),
        ];
        for (const each of answers) expect(each).toEqual({ record, result: "stale" });
      }
    }
  });

  it("S5 S7 a completion or a release that is sent again is done, and changes nothing", () => {
    const { record: completed } = complete(live, { ...proof, response: answer }, nowUs);
    expect(complete(completed, { ...proof, response: answer }, nowUs + 5)).toEqual({ record: completed, result: "ok" });
    const { record: released } = release(live, proof, nowUs);
    expect(released?.state).toBe("failed");
    expect(release(released, proof, nowUs + 5)).toEqual({ record: released, result: "ok" });
    expect(release(completed, proof, nowUs).result).toBe("stale");
  });

  it("S4 a release leaves a record on hold to a person", () => {
    const { record } = release({ ...live, ...held, ...interim }, proof, nowUs);
    expect(record).toMatchObject({ state: "processing", leaseUs: 0, ...held, ...interim });
  });

  it("S5 an ended lease is revived by nothing that was under way", () => {
    const { record: ended } = suspend(live, proof, nowUs);
    expect(ended?.leaseUs).toBe(0);
    expect(renew(ended, lease, nowUs).record?.leaseUs).toBe(0);
    expect(startStep(ended, { ...lease, name: "pay" }, nowUs).record).toMatchObject({ leaseUs: 0, stepsStarted: 1 });
    expect(renew(lapsed, lease, nowUs).record?.leaseUs).toBe(nowUs + 30_000_000);
  });

  it("S15 the first start, its attempt and the first result stay", () => {
    const pay = { ...lease, name: "pay" };
    const started = startStep(live, pay, nowUs).record;
    const again = startStep({ ...(started ?? live), attempts: 2 }, pay, nowUs + 10).record;
    expect(again?.steps).toMatchObject([{ name: "pay", attempt: 1, startedUs: nowUs, lastStartedUs: nowUs + 10 }]);
    const finished = finishStep(again, { ...pay, result: hash(1) }, nowUs + 20).record;
    expect(finishStep(finished, { ...pay, result: hash(2) }, nowUs + 30).record?.steps).toEqual(finished?.steps);
    expect(startStep(finished, pay, nowUs + 40).record?.steps).toEqual(finished?.steps);
    const at = { startedUs: nowUs, lastStartedUs: nowUs, finishedUs: nowUs, result: hash(3) };
    expect(finishStep(live, { ...pay, result: hash(3) }, nowUs).record?.steps).toEqual([
      { name: "pay", attempt: 1, ...at },
    ]);
  });

  it("a lease of about the length asked for may be left to the heartbeat, but for the first step", () => {
    const left = (ms: number, stepsStarted = 1) =>
      mayLeaveLease({ leaseUs: nowUs + ms * 1_000, stepsStarted }, 30_000, nowUs);
    expect([15_000, 60_000].map((ms) => left(ms))).toEqual([true, true]);
    expect([14_999, 60_001].map((ms) => left(ms))).toEqual([false, false]);
    expect(left(30_000, 0)).toBe(false);
  });

  it("S19 tells a commit by owner, fence and state", () => {
    const completed: WholeRecord = { ...live, state: "completed" };
    const asked = { ...proof, claimedWithin: true };
    expect([completed, live, undefined].map((record) => landedOf(record, proof))).toEqual([
      "committed",
      "not-landed",
      "lost",
    ]);
    expect([completed, live, undefined].map((record) => landedOf(record, asked))).toEqual([
      "committed",
      "not-landed",
      "not-landed",
    ]);
    expect(landedOf({ ...completed, fence: 8 }, asked)).toBe("lost");
  });
});

describe("settle", () => {
  const moment = { nowUs, fenceFloor: 0 };
  const terms = { fence: 7, actor: "ada", reason: "asked the bank" };
  const unfinished = {
    name: "pay",
    attempt: 1,
    startedUs: 1,
    lastStartedUs: 1,
    finishedUs: undefined,
    result: undefined,
  };
  const finished = { ...unfinished, name: "mail", finishedUs: 2, result: hash(1) };

  it("S16 refuses an answer, another fence, a hold where it must, and a living owner, in this order", () => {
    const hold = { ...terms, decision: { kind: "hold" } } as const;
    expect(settle(undefined, hold, moment).result).toBe("absent");
    expect(settle({ ...live, state: "completed", fence: 8 }, hold, moment).result).toBe("completed");
    expect(settle({ ...live, fence: 8 }, hold, moment).result).toBe("stale");
    expect(settle({ ...live, ...held }, { ...hold, unlessHeld: true }, moment).result).toBe("stale");
    expect(settle(live, hold, moment).result).toBe("live");
  });

  it("S15 S16 a release forgets unfinished steps and moves owner and fence on; a hold leaves both", () => {
    const record = { ...lapsed, ...held, steps: [unfinished, finished], stepsStarted: 2 };
    const released = settle(record, { ...terms, decision: { kind: "release" } }, moment);
    expect(released.record).toMatchObject({ state: "failed", owner: nobody, fence: nowUs, steps: [finished] });
    expect(released.record).toMatchObject({ stepsStarted: 1, holdReason: undefined });
    expect(released.record?.audit).toMatchObject([{ actor: "ada", action: "release", fence: 7 }]);
    const again = settle(record, { ...terms, decision: { kind: "hold" } }, moment);
    expect(again.record).toMatchObject({ owner: "a", fence: 7, holdReason: terms.reason, steps: record.steps });
    const adopted = settle(record, { ...terms, decision: { kind: "adopt", response: answer } }, moment);
    expect(adopted.record).toMatchObject({ state: "completed", response: answer, owner: nobody, stepsStarted: 2 });
  });
});

describe("ticks", () => {
  const minuteUs = 60_000_000;

  it("S10 trust needs three even intervals and goes when ticks stop or the clock goes back", () => {
    let tick = nextTick(undefined, nowUs, minuteUs);
    expect(isTrusted(undefined, nowUs)).toBe(false);
    expect(isTrusted(tick, nowUs)).toBe(false);
    for (let minute = 1; minute <= 3; minute += 1) tick = nextTick(tick, nowUs + minute * minuteUs, minuteUs);
    const lastUs = nowUs + 3 * minuteUs;
    expect(isTrusted(tick, lastUs)).toBe(true);
    expect(isTrusted(tick, lastUs + 3 * minuteUs)).toBe(true);
    expect(isTrusted(tick, lastUs + 3 * minuteUs + 1)).toBe(false);
    expect(isTrusted(tick, lastUs - 1)).toBe(false);
    for (const strange of [lastUs + 3 * minuteUs + 1, lastUs - 1]) {
      expect(nextTick(tick, strange, minuteUs).steadySinceUs).toBe(strange);
    }
  });
});

describe("the view", () => {
  it("S6 fences follow the clock, and grow by one when the clock does not", () => {
    const fenceAfter = (former: number, fenceFloor = 0) => nextFence(former, { nowUs, fenceFloor });
    expect([fenceAfter(5), fenceAfter(nowUs), fenceAfter(nowUs + 10)]).toEqual([nowUs, nowUs + 1, nowUs + 11]);
    expect(fenceAfter(0, nowUs + 20)).toBe(nowUs + 21);
  });

  it("S6 no fence of a record that went is above the floor, in whatever order they go", () => {
    const fences = [3, 9, 4];
    expect(fences.reduce((floor, gone) => floorAfter(floor, gone), 5)).toBe(9);
    expect(floorAfter(nowUs, 9)).toBe(nowUs);
  });

  it("what is left of a lease is more than zero only under a living owner", () => {
    const left = (leaseUs: number) => leaseLeftMs({ ...live, leaseUs }, nowUs);
    expect([left(nowUs + 1), left(nowUs + leaseAbsurdUs), left(nowUs + leaseAbsurdUs + 1)]).toEqual([1, 120_000, -1]);
    expect([left(0), left(nowUs - 5_000)]).toEqual([0, -5]);
    expect(leaseLeftMs({ ...live, state: "failed" }, nowUs)).toBe(0);
  });

  it("S17 unknown is processing without a living owner, or taken over in doubt", () => {
    const doubtful = [lapsed, { ...live, ...interim }, { ...live, ...held }];
    expect(doubtful.map((record) => isUnknown(record, nowUs))).toEqual([true, true, true]);
    expect([live, { ...lapsed, state: "failed" as const }].map((record) => isUnknown(record, nowUs))).toEqual([
      false,
      false,
    ]);
    const tally = createTally();
    for (const record of [...doubtful, live, { ...live, ...old, state: "completed" as const }]) {
      tally.add(record, 10, nowUs + 1_000_000);
    }
    expect(tally.sum()).toEqual({
      records: 5,
      processing: 0,
      completed: 1,
      failed: 0,
      unknown: 4,
      bodyBytes: 50,
      sweepLagMs: 1_000,
      oldestUnknownMs: 6_000,
    });
  });

  it("S11 a record is due for a sweep once its retention and its lease are over, and never while it is needed", () => {
    expect(dueUs({ ...live, ...old })).toBe(nowUs + 1);
    expect(dueUs({ ...live, ...old, state: "completed", stepsStarted: 1 })).toBe(nowUs);
    expect(dueUs({ ...live, ...old, doubtStays: true })).toBeUndefined();
  });

  it("S11 a released record with steps is due after eight times its retention, once each of them has a result", () => {
    const step = { name: "pay", attempt: 1, startedUs: 1, lastStartedUs: 1, finishedUs: 2, result: hash(1) };
    const open = { ...step, name: "mail", finishedUs: undefined, result: undefined };
    const released = {
      ...live,
      state: "failed",
      leaseUs: 0,
      createdUs: nowUs - 8_000,
      expiresUs: nowUs - 7_000,
    } as const;
    const one = { ...released, steps: [step], stepsStarted: 1 };
    expect(dueUs(one)).toBe(nowUs);
    expect([nowUs - 1, nowUs].map((us) => isForsaken(one, us))).toEqual([false, true]);
    expect(isExpired(one, nowUs), "a claim still finds the results").toBe(false);
    expect(dueUs({ ...released, steps: [step, open], stepsStarted: 2 })).toBeUndefined();
    expect(dueUs({ ...one, state: "processing" })).toBeUndefined();
    expect(isForsaken({ ...one, state: "processing" }, nowUs)).toBe(false);
    expect(dueUs(released)).toBe(nowUs - 7_000);
  });

  it("an origin that is none was written by another program, and counts as in doubt", () => {
    expect(["new", "failed", "suspended", "own"].map(originOf)).toEqual(["new", "failed", "suspended", "lapsed"]);
  });

  it("where none is kept, the first owner came by a new record, and a later one is in doubt", () => {
    expect([originKept(undefined, 1), originKept(undefined, 2)]).toEqual(["new", "lapsed"]);
    expect([originKept("failed", 2), originKept("own", 1), originKept("", 1)]).toEqual(["failed", "lapsed", "lapsed"]);
  });
});
