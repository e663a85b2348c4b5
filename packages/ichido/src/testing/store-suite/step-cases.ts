/** S15 steps. */
import assert from "node:assert/strict";
import { defineCases } from "./case.ts";
import { assertHas, assertSame, leaseMsLong, leaseMsShort, stepsOf } from "./rig.ts";
import { sampleIdentity, settlement } from "./samples.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

export const stepCases = defineCases({
  "S15-order: steps come in the order of their first start, with state, attempt, result and times": async (rig) => {
    const { claim } = await rig.grant(sampleIdentity("key"), "a");
    assert.deepEqual([...(await rig.store.steps(claim.identity))], []);
    for (const name of ["z", "a", "m", "Z", "b c"]) await rig.startStep(claim, name);
    await rig.finishStep(claim, "m", bytes("m"));
    await rig.finishStep(claim, "z", bytes("z"));
    const steps = await rig.second.steps(claim.identity);
    const expected = ["z finished 1", "a started 1", "m finished 1", "Z started 1", "b c started 1"];
    assert.deepEqual(stepsOf(steps), expected);
    assertSame(steps[0]?.result, bytes("z"));
    assertHas(steps[1] ?? assert.fail(), { result: undefined, finishedAtMs: undefined });
    for (const step of steps) {
      assert.ok(step.ageMs >= 0 && step.ageMs < 60_000, `${step.ageMs} ms old`);
      if (step.state === "finished") assert.ok((step.finishedAtMs ?? 0) >= step.startedAtMs);
    }
    assert.equal((await rig.mustFind(claim.identity)).stepsStarted, 5);
  },
  "S15-again: starting a started step again is ok and counts once; its first start stays": async (rig) => {
    const { claim } = await rig.grant(sampleIdentity("key"), "a");
    await rig.startStep(claim, "charge");
    const [first] = await rig.store.steps(claim.identity);
    await rig.startStep(claim, "charge");
    const steps = await rig.store.steps(claim.identity);
    assert.deepEqual(stepsOf(steps), ["charge started 1"]);
    assert.equal(steps[0]?.startedAtMs, first?.startedAtMs);
    assert.equal((await rig.mustFind(claim.identity)).stepsStarted, 1);
  },
  "S15-finished-stays: a finished step keeps its result when it is started or finished again": async (rig) => {
    const { claim } = await rig.grant(sampleIdentity("key"), "a");
    await rig.startStep(claim, "charge");
    await rig.finishStep(claim, "charge", bytes("first"));
    await rig.startStep(claim, "charge");
    await rig.finishStep(claim, "charge", bytes("second"));
    const steps = await rig.store.steps(claim.identity);
    assert.deepEqual(stepsOf(steps), ["charge finished 1"]);
    assertSame(steps[0]?.result, bytes("first"));
  },
  "S15-next-attempt: a later attempt learns how many steps were started and finds them as they were first started":
    async (rig, identity) => {
      const first = await rig.grant(identity, "a");
      await rig.startStep(first.claim, "reserve");
      await rig.finishStep(first.claim, "reserve", bytes("r-1"));
      await rig.startStep(first.claim, "charge", leaseMsShort);
      await rig.untilLapsed(identity);
      const next = await rig.grant(identity, "b");
      assert.equal(next.granted.stepsStarted, 2);
      await rig.startStep(next.claim, "charge");
      await rig.startStep(next.claim, "notify");
      await rig.finishStep(next.claim, "charge", bytes("c-1"));
      const steps = await rig.store.steps(identity);
      assert.deepEqual(stepsOf(steps), ["reserve finished 1", "charge finished 1", "notify started 2"]);
      assertSame(steps[0]?.result, bytes("r-1"));
      assertSame(steps[1]?.result, bytes("c-1"));
      assert.equal((await rig.mustFind(identity)).stepsStarted, 3);
    },
  "S15-age: a step knows its first and its last start, by the store's clock: also one sent again": async (
    rig,
    identity,
  ) => {
    const { claim } = await rig.grant(identity, "a");
    await rig.startStep(claim, "charge");
    const only = (await rig.store.steps(identity))[0] ?? assert.fail();
    assert.equal(only.lastStartedAtMs, only.startedAtMs);
    let last = only;
    for (const owner of ["a", "b"]) {
      if (owner === "b") assert.equal(await rig.store.suspend(claim), "ok");
      const held = owner === "a" ? claim : (await rig.grant(identity, owner)).claim;
      await rig.pass(120);
      const waiting = (await rig.store.steps(identity))[0] ?? assert.fail();
      // A timer may fire a little before its time by another clock.
      assert.ok(waiting.ageMs >= 110, `${waiting.ageMs} ms old after 120 ms`);
      await rig.startStep(held, "charge");
      const again = (await rig.store.steps(identity))[0] ?? assert.fail();
      assert.equal(again.startedAtMs, only.startedAtMs);
      assert.ok(again.lastStartedAtMs >= last.lastStartedAtMs + 110, "a second start is the last one");
      assert.ok(again.firstAgeMs >= again.ageMs + (again.lastStartedAtMs - again.startedAtMs) - 2);
      last = again;
    }
  },
  "S15-ended: a step under a lease that its owner or a person ended does not bring the lease back": async (rig) => {
    const { claim } = await rig.suspended(sampleIdentity("key"), "a", { holdReason: "ask" });
    await rig.startStep(claim, "charge");
    assert.equal((await rig.mustFind(claim.identity)).leaseLeftMs, 0);
    await rig.finishStep(claim, "charge", bytes("done"));
    assert.equal((await rig.mustFind(claim.identity)).leaseLeftMs, 0);
    assert.equal(await rig.store.settle(settlement(claim, { kind: "release" })), "ok");
  },
  "S15-apart: steps of one identity are not those of another with the same key": async (rig) => {
    const one = await rig.grant(sampleIdentity("key", { tenant: "one" }), "a");
    const two = await rig.grant(sampleIdentity("key", { tenant: "two" }), "b");
    await rig.startStep(one.claim, "charge");
    assert.equal((await rig.store.steps(one.claim.identity)).length, 1);
    assert.equal((await rig.store.steps(two.claim.identity)).length, 0);
    assert.equal((await rig.mustFind(two.claim.identity)).stepsStarted, 0);
  },
  "S15-parallel: steps started at once are all kept, each once": async (rig) => {
    const { claim } = await rig.grant(sampleIdentity("key"), "a");
    const names = Array.from({ length: 10 }, (_, index) => `step-${index}`);
    const requests = names.map((name) => ({ ...claim, name, leaseMs: leaseMsLong }));
    const answers = await Promise.all(
      requests.flatMap((request) => [rig.store.startStep(request), rig.second.startStep(request)]),
    );
    assert.ok(answers.every((answer) => answer === "ok"));
    const steps = await rig.store.steps(claim.identity);
    assert.deepEqual(steps.map((step) => step.name).toSorted(), names.toSorted());
    assert.equal((await rig.mustFind(claim.identity)).stepsStarted, 10);
  },
});
