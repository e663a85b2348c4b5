/** S16 settlement. */
import assert from "node:assert/strict";
import type { SettleRequest } from "../../core/contract/store.ts";
import { defineCases } from "./case.ts";
import { asCompleted, asGranted, assertHas, assertSame, leaseMsLong, stepsOf } from "./rig.ts";
import { sampleIdentity, sampleResponse, settlement } from "./samples.ts";

const found = sampleResponse({ status: 200, body: "found at the bank" });
const decisions = {
  adopt: { kind: "adopt", response: found },
  release: { kind: "release" },
  hold: { kind: "hold" },
} as const satisfies Readonly<Record<string, SettleRequest["decision"]>>;
const result = new Uint8Array([7]);
const kinds = ["adopt", "release", "hold"] as const;

export const settleCases = defineCases({
  "S16-adopt: adopt stores the answer that was found, and the vanished owner is stale": async (rig, identity) => {
    const { claim } = await rig.lapsed(identity, "a");
    assert.equal(await rig.store.settle(settlement(claim, decisions.adopt)), "ok");
    assertSame(asCompleted(await rig.second.claim(rig.request(identity, "b"))).response, found);
    assert.equal(await rig.store.complete({ ...claim, response: sampleResponse() }), "stale");
    assertSame(asCompleted(await rig.claim(identity, "c")).response, found);
    assert.ok((await rig.mustFind(identity)).fence > claim.fence);
  },
  "S16-release: release lets the next attempt run with a greater fence, and the vanished owner is stale": async (
    rig,
    identity,
  ) => {
    const { claim } = await rig.suspended(identity, "a", { interim: found, holdReason: "ask" });
    assert.equal(await rig.store.settle(settlement(claim, decisions.release)), "ok");
    assert.equal(await rig.store.complete({ ...claim, response: sampleResponse() }), "stale");
    assertHas(await rig.mustFind(identity), { state: "failed", interim: undefined, holdReason: undefined });
    const next = asGranted(await rig.claim(identity, "b", { takeover: "none" }));
    assertHas(next, { origin: "failed", attempt: 2 });
    assert.ok(next.fence > claim.fence);
  },
  "S16-hold: hold keeps everyone out but the owner thought dead, which may still bring its answer": async (
    rig,
    identity,
  ) => {
    const { claim } = await rig.lapsed(identity, "a");
    const request = settlement(claim, decisions.hold);
    assert.equal(await rig.store.settle(request), "ok");
    const answer = await rig.claim(identity, "b");
    assertSame(answer, { outcome: "unknown", holdReason: request.reason, fence: claim.fence, attempts: 1 });
    await rig.complete(claim);
    assertSame(asCompleted(await rig.claim(identity, "c")).response, sampleResponse());
    assert.equal((await rig.mustFind(identity)).holdReason, undefined);
  },
  "S16-hold-released: a hold outlives the release of the owner thought dead: only a person lets the next attempt run":
    async (rig, identity) => {
      const { claim } = await rig.lapsed(identity, "a");
      const request = settlement(claim, decisions.hold);
      assert.equal(await rig.store.settle(request), "ok");
      assert.equal(await rig.second.release(claim), "ok");
      const answer = await rig.claim(identity, "b", { takeover: "open" });
      assertSame(answer, { outcome: "unknown", holdReason: request.reason, fence: claim.fence, attempts: 1 });
      assert.equal(await rig.store.settle(settlement(claim, decisions.release)), "ok");
      assert.equal(asGranted(await rig.claim(identity, "b")).origin, "failed");
    },
  "S16-unless-held: reconciler against hold: what a policy settles is stale on a record that a person put on hold":
    async (rig) => {
      for (const kind of kinds) {
        const identity = sampleIdentity(`key-${kind}`);
        const { claim } = await rig.suspended(identity, "a", { interim: found });
        assert.equal(await rig.second.settle(settlement(claim, decisions.hold)), "ok");
        const before = await rig.snapshot(identity);
        const policy = { ...settlement(claim, decisions[kind]), unlessHeld: true as const };
        assert.equal(await rig.store.settle(policy), "stale");
        assert.deepEqual(await rig.snapshot(identity), before);
        assert.equal((await rig.store.audit(identity)).length, 1, "the person's own row alone");

        const open = await rig.lapsed(sampleIdentity(`open-${kind}`), "a");
        const free = { ...settlement(open.claim, decisions[kind]), unlessHeld: true as const };
        assert.equal(await rig.store.settle(free), "ok", "where nobody holds the record a policy may settle it");
      }
    },
  "S16-release-steps: settle release with started steps: they count as not having happened, finished ones stay": async (
    rig,
    identity,
  ) => {
    const { claim } = await rig.grant(identity, "a");
    const reserve = { ...claim, name: "reserve", leaseMs: leaseMsLong };
    for (const name of ["reserve", "charge", "notify"]) {
      await rig.startStep(claim, name);
      if (name === "charge") await rig.finishStep(claim, name, result);
    }
    assert.equal(await rig.store.suspend({ ...claim, holdReason: "ask" }), "ok");
    assert.equal(await rig.store.settle(settlement(claim, decisions.release)), "ok");
    assert.equal((await rig.mustFind(identity)).stepsStarted, 1);
    assert.equal(await rig.second.finishStep({ ...reserve, result }), "stale");
    assert.equal(await rig.second.startStep(reserve), "stale");

    const next = await rig.grant(identity, "b");
    assert.deepEqual([next.granted.origin, next.granted.stepsStarted], ["failed", 1]);
    for (const name of ["reserve", "later"]) await rig.startStep(next.claim, name);
    const expected = ["charge finished 1", "reserve started 2", "later started 2"];
    assert.deepEqual(stepsOf(await rig.store.steps(identity)), expected);
    assertSame((await rig.store.steps(identity))[0]?.result, result);
    assert.equal((await rig.mustFind(identity)).stepsStarted, 3);
  },
  "S16-release-only-started: settle release with started steps: when none was finished the next attempt inherits none":
    async (rig, identity) => {
      const { claim } = await rig.grant(identity, "a");
      await rig.startStep(claim, "charge");
      assert.equal(await rig.store.suspend(claim), "ok");
      assert.equal(await rig.store.settle(settlement(claim, decisions.release)), "ok");
      assert.equal((await rig.mustFind(identity)).stepsStarted, 0);
      const next = await rig.grant(identity, "b");
      assert.equal(next.granted.stepsStarted, 0);
      assert.deepEqual([...(await rig.store.steps(identity))], []);
    },
  "S15-policy-keeps-steps: what a policy releases keeps its started steps: the next attempt meets them": async (
    rig,
    identity,
  ) => {
    const { claim } = await rig.grant(identity, "a");
    for (const name of ["reserve", "charge"]) await rig.startStep(claim, name);
    await rig.finishStep(claim, "reserve", result);
    assert.equal(await rig.store.suspend(claim), "ok");
    const policy = { ...settlement(claim, decisions.release), unlessHeld: true as const };
    assert.equal(await rig.second.settle(policy), "ok");
    assert.equal(await rig.store.finishStep({ ...claim, name: "charge", leaseMs: leaseMsLong, result }), "stale");
    const next = await rig.grant(identity, "b");
    assert.deepEqual([next.granted.origin, next.granted.stepsStarted], ["failed", 2]);
    assert.deepEqual(stepsOf(await rig.store.steps(identity)), ["reserve finished 1", "charge started 1"]);
  },
  "S16-after-hold: a record on hold can be adopted or released later": async (rig) => {
    for (const kind of ["adopt", "release"] as const) {
      const identity = sampleIdentity(`key-${kind}`);
      const { claim } = await rig.suspended(identity, "a", { holdReason: "ask" });
      assert.equal(await rig.store.settle(settlement(claim, decisions[kind])), "ok");
      assert.equal((await rig.mustFind(identity)).state, kind === "adopt" ? "completed" : "failed");
    }
  },
  "S16-stale: a record that moved since it was looked at is not settled and leaves no audit row": async (rig) => {
    for (const kind of kinds) {
      const identity = sampleIdentity(`key-${kind}`);
      const first = await rig.lapsed(identity, "a");
      await rig.lapsed(identity, "b");
      const before = await rig.snapshot(identity);
      assert.equal(await rig.store.settle(settlement(first.claim, decisions[kind])), "stale");
      assert.deepEqual(await rig.snapshot(identity), before);
      assert.equal((await rig.store.audit(identity)).length, 0);
    }
  },
  "S16-refused: a living owner, an answer and no record at all are told apart, and leave no audit row": async (rig) => {
    const live = await rig.grant(sampleIdentity("live"), "a");
    const done = await rig.completed(sampleIdentity("done"), "b");
    for (const kind of kinds) {
      const decision = decisions[kind];
      assert.equal(await rig.store.settle(settlement(live.claim, decision)), "live");
      assert.equal(await rig.store.settle(settlement(done.claim, decision)), "completed");
      assert.equal(
        await rig.store.settle(settlement({ identity: sampleIdentity("absent"), fence: 1 }, decision)),
        "absent",
      );
    }
    for (const identity of [live.claim.identity, done.claim.identity, sampleIdentity("absent")]) {
      assert.equal((await rig.store.audit(identity)).length, 0);
    }
    assert.equal(await rig.store.find(sampleIdentity("absent")), undefined);
    assertSame(asCompleted(await rig.claim(done.claim.identity, "c")).response, sampleResponse());
  },
  "S16-audit: each settlement leaves one audit row, in order, with actor, action, reason and the fence looked at":
    async (rig, identity) => {
      const { claim } = await rig.lapsed(identity, "a");
      assert.equal(await rig.store.settle(settlement(claim, decisions.hold)), "ok");
      const held = await rig.mustFind(identity);
      assert.equal(await rig.store.settle(settlement(held, decisions.release)), "ok");
      const next = await rig.lapsed(identity, "b");
      assert.equal(await rig.store.settle(settlement(next.claim, decisions.adopt)), "ok");
      const entries = await rig.second.audit(identity);
      assert.deepEqual(
        entries.map(({ actor, action, reason, fence }) => ({ actor, action, reason, fence })),
        [
          { actor: "on-call", action: "hold", reason: 'because: "hold"', fence: claim.fence },
          { actor: "on-call", action: "release", reason: 'because: "release"', fence: held.fence },
          { actor: "on-call", action: "adopt", reason: 'because: "adopt"', fence: next.claim.fence },
        ],
      );
      const times = entries.map((entry) => entry.atMs);
      assert.deepEqual(
        times,
        times.toSorted((a, b) => a - b),
      );
      assert.ok((times[0] ?? 0) >= held.createdAtMs - 1);
    },
  "S16-race: of two people and a new owner exactly one moves a lapsed record": async (rig) => {
    for (let round = 0; round < 10; round += 1) {
      const identity = sampleIdentity(`key-${round}`);
      const { claim } = await rig.suspended(identity, "a");
      const [adopted, released, next] = await Promise.all([
        rig.store.settle(settlement(claim, decisions.adopt)),
        rig.second.settle(settlement(claim, decisions.release)),
        rig.store.claim(rig.request(identity, "b", { takeover: "lapsed" })),
      ]);
      // A claim granted after a release is a second change, of a record that is free again; the release then succeeded.
      const moved = [adopted === "ok", released === "ok", next.outcome === "granted" && next.origin === "lapsed"];
      assert.equal(moved.filter(Boolean).length, 1, JSON.stringify([adopted, released, next.outcome]));
      const rows = (await rig.store.audit(identity)).length;
      assert.equal(rows, moved[2] === true ? 0 : 1);
    }
  },
});
