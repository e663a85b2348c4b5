import { expect, it } from "vitest";
import { answer, hash, lapsed, live, nowUs } from "../../../../../test/support/sample-record.ts";
import { nobody } from "./bounds.ts";
import { finishStep, landedOf, release, renew, startStep, suspend } from "./owned.ts";
import { settle } from "./settle.ts";
import { isTrusted, nextTick } from "./ticks.ts";

const proof = { owner: live.owner, fence: live.fence };
const lease = { ...proof, leaseMs: 30_000 };
const moment = { nowUs, fenceFloor: 0 };
const terms = { fence: 7, actor: "ada", reason: "asked the bank" };

it("S5 the owner's verbs are told as done when they are", () => {
  expect(renew(live, lease, nowUs).result).toBe("ok");
  expect(release(live, proof, nowUs).result).toBe("ok");
});

it("S4 a suspension says what is new, and keeps what was said before", () => {
  const doubt = { interim: answer, holdReason: "ask" };
  expect(suspend(live, { ...proof, ...doubt }, nowUs).record).toMatchObject({ ...doubt, updatedUs: nowUs });
  expect(suspend({ ...live, ...doubt }, proof, nowUs).record).toMatchObject(doubt);
  const later = { interim: { ...answer, status: 202 }, holdReason: "ask again" };
  expect(suspend({ ...live, ...doubt }, { ...proof, ...later }, nowUs).record).toMatchObject(later);
});

it("S15 a step is begun and finished without a change to the others", () => {
  const pay = startStep(live, { ...lease, name: "pay" }, nowUs).record;
  const both = startStep(pay, { ...lease, name: "mail" }, nowUs + 1).record;
  expect(both).toMatchObject({ stepsStarted: 2, steps: [{ name: "pay" }, { name: "mail", startedUs: nowUs + 1 }] });
  const finished = finishStep(both, { ...lease, name: "mail", result: hash(1) }, nowUs + 2).record;
  expect(finished?.steps).toEqual([pay?.steps[0], { ...both?.steps[1], finishedUs: nowUs + 2, result: hash(1) }]);
});

it("S19 what its owner released was not committed, and is not under way", () => {
  expect(landedOf({ ...live, state: "failed" }, proof)).toBe("lost");
});

it("S16 nobody's token is no attempt's, and what is settled is told as done", () => {
  expect(nobody).toBe("00000000000000000000000000000000");
  const held = settle({ ...lapsed, state: "failed" }, { ...terms, decision: { kind: "hold" } }, moment);
  expect(held).toMatchObject({ result: "ok", record: { state: "processing", leaseUs: 0, holdReason: terms.reason } });
});

it("S15 S16 what a policy releases keeps its started steps, where nobody holds it", () => {
  const step = { name: "pay", attempt: 1, startedUs: 1, lastStartedUs: 1, finishedUs: undefined, result: undefined };
  const record = { ...lapsed, steps: [step], stepsStarted: 1 };
  const byPolicy = settle(record, { ...terms, decision: { kind: "release" }, unlessHeld: true }, moment);
  expect(byPolicy).toMatchObject({ result: "ok", record: { state: "failed", stepsStarted: 1, steps: [step] } });
});

it("S10 a tick is even in the moment of the last one, and as late as three intervals", () => {
  const first = { lastUs: nowUs, intervalUs: 10, steadySinceUs: nowUs - 100 };
  for (const evenUs of [nowUs, nowUs + 30]) expect(nextTick(first, evenUs, 10).steadySinceUs).toBe(nowUs - 100);
  expect(nextTick(first, nowUs + 31, 10).steadySinceUs).toBe(nowUs + 31);
  expect([nowUs, nowUs - 1].map((us) => isTrusted(first, us))).toEqual([true, false]);
});
