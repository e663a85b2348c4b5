/** S15 steps. */
import assert from "node:assert/strict";
import type { StoreCase } from "./case.ts";
import { assertSame, leaseMsLong, leaseMsShort, type Rig } from "./rig.ts";
import type { Claim } from "../../core/contract/store.ts";
import { sampleIdentity } from "./samples.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

async function start(rig: Rig, claim: Claim, name: string, leaseMs = leaseMsLong): Promise<void> {
  assert.equal(await rig.store.startStep({ ...claim, name, leaseMs }), "ok");
}

async function finish(rig: Rig, claim: Claim, name: string, result: Uint8Array): Promise<void> {
  assert.equal(await rig.store.finishStep({ ...claim, name, leaseMs: leaseMsLong, result }), "ok");
}

export const stepCases: readonly StoreCase[] = [
  {
    id: "S15-order",
    title: "S15 steps come in the order of their first start, with state, attempt, result and times",
    async run(rig) {
      const { claim } = await rig.grant(sampleIdentity("key"), "a");
      assert.deepEqual([...(await rig.store.steps(claim.identity))], []);
      for (const name of ["z", "a", "m", "Z", "b c"]) await start(rig, claim, name);
      await finish(rig, claim, "m", bytes("m"));
      await finish(rig, claim, "z", bytes("z"));
      const steps = await rig.second.steps(claim.identity);
      assert.deepEqual(
        steps.map((step) => [step.name, step.state, step.attempt]),
        [
          ["z", "finished", 1],
          ["a", "started", 1],
          ["m", "finished", 1],
          ["Z", "started", 1],
          ["b c", "started", 1],
        ],
      );
      assertSame(steps[0]?.result, bytes("z"));
      assert.equal(steps[1]?.result, undefined);
      assert.equal(steps[1]?.finishedAtMs, undefined);
      for (const step of steps) {
        assert.ok(step.ageMs >= 0 && step.ageMs < 60_000, `${step.ageMs} ms old`);
        if (step.state === "finished") assert.ok((step.finishedAtMs ?? 0) >= step.startedAtMs);
      }
      assert.equal((await rig.mustFind(claim.identity)).stepsStarted, 5);
    },
  },
  {
    id: "S15-again",
    title: "S15 starting a started step again is ok and counts once; its first start stays",
    async run(rig) {
      const { claim } = await rig.grant(sampleIdentity("key"), "a");
      await start(rig, claim, "charge");
      const [first] = await rig.store.steps(claim.identity);
      await start(rig, claim, "charge");
      const steps = await rig.store.steps(claim.identity);
      assert.equal(steps.length, 1);
      assert.deepEqual([steps[0]?.startedAtMs, steps[0]?.attempt, steps[0]?.state], [first?.startedAtMs, 1, "started"]);
      assert.equal((await rig.mustFind(claim.identity)).stepsStarted, 1);
    },
  },
  {
    id: "S15-finished-stays",
    title: "S15 a finished step keeps its result when it is started or finished again",
    async run(rig) {
      const { claim } = await rig.grant(sampleIdentity("key"), "a");
      await start(rig, claim, "charge");
      await finish(rig, claim, "charge", bytes("first"));
      await start(rig, claim, "charge");
      await finish(rig, claim, "charge", bytes("second"));
      const steps = await rig.store.steps(claim.identity);
      assert.equal(steps.length, 1);
      assert.equal(steps[0]?.state, "finished");
      assertSame(steps[0]?.result, bytes("first"));
    },
  },
  {
    id: "S15-next-attempt",
    title: "S15 a later attempt learns how many steps were started and finds them as they were first started",
    async run(rig) {
      const identity = sampleIdentity("key");
      const first = await rig.grant(identity, "a");
      await start(rig, first.claim, "reserve");
      await finish(rig, first.claim, "reserve", bytes("r-1"));
      await start(rig, first.claim, "charge", leaseMsShort);
      await rig.untilLapsed(identity);
      const next = await rig.grant(identity, "b");
      assert.equal(next.granted.stepsStarted, 2);
      await start(rig, next.claim, "charge");
      await start(rig, next.claim, "notify");
      await finish(rig, next.claim, "charge", bytes("c-1"));
      const steps = await rig.store.steps(identity);
      assert.deepEqual(
        steps.map((step) => [step.name, step.state, step.attempt]),
        [
          ["reserve", "finished", 1],
          ["charge", "finished", 1],
          ["notify", "started", 2],
        ],
      );
      assertSame(steps[0]?.result, bytes("r-1"));
      assertSame(steps[1]?.result, bytes("c-1"));
      assert.equal((await rig.mustFind(identity)).stepsStarted, 3);
    },
  },
  {
    id: "S15-age",
    title: "S15 a step knows its first and its last start, by the store's clock: also one sent again",
    async run(rig) {
      const identity = sampleIdentity("key");
      const { claim } = await rig.grant(identity, "a");
      await start(rig, claim, "charge");
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
        await start(rig, held, "charge");
        const again = (await rig.store.steps(identity))[0] ?? assert.fail();
        assert.equal(again.startedAtMs, only.startedAtMs);
        assert.ok(again.lastStartedAtMs >= last.lastStartedAtMs + 110, "a second start is the last one");
        assert.ok(again.firstAgeMs >= again.ageMs + (again.lastStartedAtMs - again.startedAtMs) - 2);
        last = again;
      }
    },
  },
  {
    id: "S15-ended",
    title: "S15 a step under a lease that its owner or a person ended does not bring the lease back",
    async run(rig) {
      const { claim } = await rig.grant(sampleIdentity("key"), "a");
      assert.equal(await rig.store.suspend({ ...claim, holdReason: "ask" }), "ok");
      await start(rig, claim, "charge");
      assert.equal((await rig.mustFind(claim.identity)).leaseLeftMs, 0);
      await finish(rig, claim, "charge", bytes("done"));
      assert.equal((await rig.mustFind(claim.identity)).leaseLeftMs, 0);
      const decision = { kind: "release" } as const;
      const { identity, fence } = claim;
      assert.equal(await rig.store.settle({ identity, fence, decision, actor: "on-call", reason: "no" }), "ok");
    },
  },
  {
    id: "S15-apart",
    title: "S15 steps of one identity are not those of another with the same key",
    async run(rig) {
      const one = await rig.grant(sampleIdentity("key", { tenant: "one" }), "a");
      const two = await rig.grant(sampleIdentity("key", { tenant: "two" }), "b");
      await start(rig, one.claim, "charge");
      assert.equal((await rig.store.steps(one.claim.identity)).length, 1);
      assert.equal((await rig.store.steps(two.claim.identity)).length, 0);
      assert.equal((await rig.mustFind(two.claim.identity)).stepsStarted, 0);
    },
  },
  {
    id: "S15-parallel",
    title: "S15 steps started at once are all kept, each once",
    async run(rig) {
      const { claim } = await rig.grant(sampleIdentity("key"), "a");
      const names = Array.from({ length: 10 }, (_, index) => `step-${index}`);
      const request = (name: string): Parameters<typeof rig.store.startStep>[0] => ({
        ...claim,
        name,
        leaseMs: leaseMsLong,
      });
      const answers = await Promise.all(
        names.flatMap((name) => [rig.store.startStep(request(name)), rig.second.startStep(request(name))]),
      );
      assert.ok(answers.every((answer) => answer === "ok"));
      const steps = await rig.store.steps(claim.identity);
      assert.deepEqual(steps.map((step) => step.name).toSorted(), names.toSorted());
      assert.equal((await rig.mustFind(claim.identity)).stepsStarted, 10);
    },
  },
];
