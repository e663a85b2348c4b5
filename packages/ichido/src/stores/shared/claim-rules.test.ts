import { describe, expect, it } from "vitest";
import { limits } from "../../core/defaults.ts";
import {
  isTrusted,
  judgeClaim,
  leaseAbsurdUs,
  nextFence,
  nextTick,
  type ClaimVerdict,
  type HeldRecord,
} from "./claim-rules.ts";

const nowUs = 1_800_000_000_000_000;
const hash = (byte: number) => new Uint8Array(32).fill(byte);

const live: HeldRecord = {
  state: "processing",
  owner: "a",
  raw: hash(1),
  canonical: hash(2),
  leaseUs: nowUs + 1,
  expiresUs: nowUs + 1_000,
  stepsStarted: 0,
  interim: false,
  held: false,
  doubtStays: false,
};
const lapsed = { ...live, leaseUs: nowUs };
const old = { expiresUs: nowUs };
const same = { version: 1, raw: hash(1), canonical: hash(2) };
const other = { version: 1, raw: hash(8), canonical: hash(9) };

function judge(
  record: HeldRecord,
  parts: Partial<Parameters<typeof judgeClaim>[1]> = {},
  trusted = true,
): ClaimVerdict {
  return judgeClaim(record, { owner: "b", fingerprint: same, takeover: "lapsed", ...parts }, nowUs, () => trusted);
}

describe("judgeClaim", () => {
  it("S9 tests retention before the fingerprint, and only where the clock is trusted", () => {
    const completed: HeldRecord = { ...live, ...old, state: "completed" };
    expect(judge(completed, { fingerprint: other })).toBe("expired");
    expect(judge(completed, { fingerprint: other }, false)).toBe("mismatch");
    expect(judge(completed, {}, false)).toBe("completed");
  });

  it("S10 asks about the clock only for a record past its retention", () => {
    const never = () => expect.unreachable();
    expect(judgeClaim(lapsed, { owner: "b", fingerprint: same, takeover: "none" }, nowUs, never)).toBe("unknown");
  });

  it("S11 nothing under way, with a started step or in doubt expires", () => {
    expect(judge({ ...live, ...old })).toBe("processing");
    expect(judge({ ...lapsed, ...old, stepsStarted: 1 })).toBe("take-lapsed");
    expect(judge({ ...lapsed, ...old, held: true })).toBe("unknown");
    expect(judge({ ...lapsed, ...old, interim: true })).toBe("unknown");
    expect(judge({ ...lapsed, ...old, doubtStays: true })).toBe("take-lapsed");
    expect(judge({ ...lapsed, ...old, state: "failed", doubtStays: true })).toBe("expired");
    expect(judge({ ...lapsed, ...old, state: "failed", stepsStarted: 1 })).toBe("take-failed");
    expect(judge({ ...lapsed, ...old })).toBe("expired");
    expect(judge({ ...lapsed, ...old, state: "completed", stepsStarted: 1 })).toBe("expired");
  });

  it("S3 a mismatch beats every state", () => {
    for (const state of ["processing", "completed", "failed"] as const) {
      expect(judge({ ...live, state }, { fingerprint: other })).toBe("mismatch");
      expect(judge({ ...lapsed, state }, { fingerprint: other, owner: "a", takeover: "open" })).toBe("mismatch");
    }
  });

  it("S3 equal raw bytes, equal meaning, or the former version's hash on either side are the same request", () => {
    const record: HeldRecord = { ...live, former: hash(3) };
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
    for (const record of [live, lapsed, { ...live, interim: true }]) {
      expect(judge(record, { owner: "a", takeover: "none" })).toBe("resend");
    }
    expect(judge({ ...live, state: "completed" }, { owner: "a" })).toBe("completed");
  });

  it("S4 a lapsed record goes by takeover, one with an interim answer by open, one on hold to nobody", () => {
    const doubtful = { ...lapsed, interim: true };
    const verdicts = (record: HeldRecord) =>
      (["none", "lapsed", "open"] as const).map((takeover) => judge(record, { takeover }));
    expect(verdicts(live)).toEqual(["processing", "processing", "processing"]);
    expect(verdicts(lapsed)).toEqual(["unknown", "take-lapsed", "take-lapsed"]);
    expect(verdicts(doubtful)).toEqual(["unknown", "unknown", "take-suspended"]);
    for (const held of [
      { ...lapsed, held: true },
      { ...doubtful, held: true },
    ]) {
      expect(verdicts(held)).toEqual(["unknown", "unknown", "unknown"]);
      expect(judge(held, { owner: "a" })).toBe("unknown");
    }
    expect(verdicts({ ...live, state: "failed" })).toEqual(["take-failed", "take-failed", "take-failed"]);
    expect(judge(doubtful, { owner: "a" }), "an owner that left it in doubt").toBe("unknown");
  });

  it("S8 a lease further ahead than twice the longest one counts as lapsed", () => {
    expect(leaseAbsurdUs).toBe(2 * limits.leaseMsMax * 1_000);
    expect(judge({ ...live, leaseUs: nowUs + leaseAbsurdUs })).toBe("processing");
    expect(judge({ ...live, leaseUs: nowUs + leaseAbsurdUs + 1 })).toBe("take-lapsed");
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

describe("nextFence", () => {
  it("S6 follows the clock, and grows by one when the clock does not", () => {
    expect(nextFence(5, nowUs)).toBe(nowUs);
    expect(nextFence(nowUs, nowUs)).toBe(nowUs + 1);
    expect(nextFence(nowUs + 10, nowUs)).toBe(nowUs + 11);
  });
});
