/** S16 settlement. */
import assert from "node:assert/strict";
import type { Identity } from "../../core/contract/record.ts";
import type { SettleRequest } from "../../core/contract/store.ts";
import type { StoreCase } from "./case.ts";
import { asCompleted, asGranted, assertSame } from "./rig.ts";
import { sampleIdentity, sampleResponse } from "./samples.ts";

const found = sampleResponse({ status: 200, body: "found at the bank" });
const decisions = {
  adopt: { kind: "adopt", response: found },
  release: { kind: "release" },
  hold: { kind: "hold" },
} as const satisfies Readonly<Record<string, SettleRequest["decision"]>>;
const kinds = ["adopt", "release", "hold"] as const;

function by(identity: Identity, fence: number, decision: SettleRequest["decision"]): SettleRequest {
  return { identity, fence, decision, actor: "on-call", reason: `because: "${decision.kind}"` };
}

export const settleCases: readonly StoreCase[] = [
  {
    id: "S16-adopt",
    title: "S16 adopt stores the answer that was found, and the vanished owner is stale",
    async run(rig) {
      const identity = sampleIdentity("key");
      const { claim } = await rig.lapsed(identity, "a");
      assert.equal(await rig.store.settle(by(identity, claim.fence, decisions.adopt)), "ok");
      const answer = asCompleted(await rig.second.claim(rig.request(identity, "b")));
      assertSame(answer.response, found);
      assert.equal(await rig.store.complete({ ...claim, response: sampleResponse() }), "stale");
      assertSame(asCompleted(await rig.claim(identity, "c")).response, found);
      assert.ok((await rig.mustFind(identity)).fence > claim.fence);
    },
  },
  {
    id: "S16-release",
    title: "S16 release lets the next attempt run with a greater fence, and the vanished owner is stale",
    async run(rig) {
      const identity = sampleIdentity("key");
      const { claim } = await rig.grant(identity, "a");
      assert.equal(await rig.store.suspend({ ...claim, interim: found, holdReason: "ask" }), "ok");
      assert.equal(await rig.store.settle(by(identity, claim.fence, decisions.release)), "ok");
      assert.equal(await rig.store.complete({ ...claim, response: sampleResponse() }), "stale");
      const record = await rig.mustFind(identity);
      assert.equal(record.state, "failed");
      assert.equal(record.interim, undefined);
      assert.equal(record.holdReason, undefined);
      const next = asGranted(await rig.claim(identity, "b", { takeover: "none" }));
      assert.equal(next.origin, "failed");
      assert.equal(next.attempt, 2);
      assert.ok(next.fence > claim.fence);
    },
  },
  {
    id: "S16-hold",
    title: "S16 hold keeps everyone out but the owner thought dead, which may still bring its answer",
    async run(rig) {
      const identity = sampleIdentity("key");
      const { claim } = await rig.lapsed(identity, "a");
      const request = by(identity, claim.fence, decisions.hold);
      assert.equal(await rig.store.settle(request), "ok");
      const answer = await rig.claim(identity, "b");
      assertSame(answer, { outcome: "unknown", holdReason: request.reason, fence: claim.fence, attempts: 1 });
      assert.equal(await rig.store.complete({ ...claim, response: sampleResponse() }), "ok");
      assertSame(asCompleted(await rig.claim(identity, "c")).response, sampleResponse());
      assert.equal((await rig.mustFind(identity)).holdReason, undefined);
    },
  },
  {
    id: "S16-hold-released",
    title: "S16 a hold outlives the release of the owner thought dead: only a person lets the next attempt run",
    async run(rig) {
      const identity = sampleIdentity("key");
      const { claim } = await rig.lapsed(identity, "a");
      const request = by(identity, claim.fence, decisions.hold);
      assert.equal(await rig.store.settle(request), "ok");
      assert.equal(await rig.second.release(claim), "ok");
      const answer = await rig.claim(identity, "b", { takeover: "open" });
      assertSame(answer, { outcome: "unknown", holdReason: request.reason, fence: claim.fence, attempts: 1 });
      assert.equal(await rig.store.settle(by(identity, claim.fence, decisions.release)), "ok");
      assert.equal(asGranted(await rig.claim(identity, "b")).origin, "failed");
    },
  },
  {
    id: "S16-unless-held",
    title: "S16 reconciler against hold: what a policy settles is stale on a record that a person put on hold",
    async run(rig) {
      for (const kind of kinds) {
        const identity = sampleIdentity(`key-${kind}`);
        const { claim } = await rig.grant(identity, "a");
        assert.equal(await rig.store.suspend({ ...claim, interim: found }), "ok");
        assert.equal(await rig.second.settle(by(identity, claim.fence, decisions.hold)), "ok");
        const before = await rig.snapshot(identity);
        const policy = { ...by(identity, claim.fence, decisions[kind]), unlessHeld: true as const };
        assert.equal(await rig.store.settle(policy), "stale");
        assert.deepEqual(await rig.snapshot(identity), before);
        assert.equal((await rig.store.audit(identity)).length, 1, "the person's own row alone");

        const open = await rig.lapsed(sampleIdentity(`open-${kind}`), "a");
        const free = { ...by(open.claim.identity, open.claim.fence, decisions[kind]), unlessHeld: true as const };
        assert.equal(await rig.store.settle(free), "ok", "where nobody holds the record a policy may settle it");
      }
    },
  },
  {
    id: "S16-release-steps",
    title: "S16 settle release with started steps: they count as not having happened, finished ones stay",
    async run(rig) {
      const identity = sampleIdentity("key");
      const { claim } = await rig.grant(identity, "a");
      const start = { ...claim, leaseMs: 30_000 };
      const result = new Uint8Array([7]);
      for (const name of ["reserve", "charge", "notify"]) {
        assert.equal(await rig.store.startStep({ ...start, name }), "ok");
        if (name === "charge") assert.equal(await rig.store.finishStep({ ...start, name, result }), "ok");
      }
      assert.equal(await rig.store.suspend({ ...claim, holdReason: "ask" }), "ok");
      assert.equal(await rig.store.settle(by(identity, claim.fence, decisions.release)), "ok");
      assert.equal((await rig.mustFind(identity)).stepsStarted, 1);
      assert.equal(await rig.second.finishStep({ ...start, name: "reserve", result }), "stale");
      assert.equal(await rig.second.startStep({ ...start, name: "reserve" }), "stale");

      const next = await rig.grant(identity, "b");
      assert.deepEqual([next.granted.origin, next.granted.stepsStarted], ["failed", 1]);
      for (const name of ["reserve", "later"]) {
        assert.equal(await rig.store.startStep({ ...next.claim, name, leaseMs: 30_000 }), "ok");
      }
      assert.deepEqual(
        (await rig.store.steps(identity)).map(({ name, state, attempt }) => [name, state, attempt]),
        [
          ["charge", "finished", 1],
          ["reserve", "started", 2],
          ["later", "started", 2],
        ],
      );
      assertSame((await rig.store.steps(identity))[0]?.result, result);
      assert.equal((await rig.mustFind(identity)).stepsStarted, 3);
    },
  },
  {
    id: "S16-release-only-started",
    title: "S16 settle release with started steps: when none was finished the next attempt inherits none",
    async run(rig) {
      const identity = sampleIdentity("key");
      const { claim } = await rig.grant(identity, "a");
      assert.equal(await rig.store.startStep({ ...claim, name: "charge", leaseMs: 30_000 }), "ok");
      assert.equal(await rig.store.suspend(claim), "ok");
      assert.equal(await rig.store.settle(by(identity, claim.fence, decisions.release)), "ok");
      assert.equal((await rig.mustFind(identity)).stepsStarted, 0);
      const next = await rig.grant(identity, "b");
      assert.equal(next.granted.stepsStarted, 0);
      assert.deepEqual([...(await rig.store.steps(identity))], []);
    },
  },
  {
    id: "S15-policy-keeps-steps",
    title: "S15 what a policy releases keeps its started steps: the next attempt meets them",
    async run(rig) {
      const identity = sampleIdentity("key");
      const { claim } = await rig.grant(identity, "a");
      const start = { ...claim, leaseMs: 30_000 };
      const result = new Uint8Array([7]);
      for (const name of ["reserve", "charge"]) assert.equal(await rig.store.startStep({ ...start, name }), "ok");
      assert.equal(await rig.store.finishStep({ ...start, name: "reserve", result }), "ok");
      assert.equal(await rig.store.suspend(claim), "ok");
      const policy = { ...by(identity, claim.fence, decisions.release), unlessHeld: true as const };
      assert.equal(await rig.second.settle(policy), "ok");
      assert.equal(await rig.store.finishStep({ ...start, name: "charge", result }), "stale");
      const next = await rig.grant(identity, "b");
      assert.deepEqual([next.granted.origin, next.granted.stepsStarted], ["failed", 2]);
      assert.deepEqual(
        (await rig.store.steps(identity)).map(({ name, state, attempt }) => [name, state, attempt]),
        [
          ["reserve", "finished", 1],
          ["charge", "started", 1],
        ],
      );
    },
  },
  {
    id: "S16-after-hold",
    title: "S16 a record on hold can be adopted or released later",
    async run(rig) {
      for (const kind of ["adopt", "release"] as const) {
        const identity = sampleIdentity(`key-${kind}`);
        const { claim } = await rig.grant(identity, "a");
        assert.equal(await rig.store.suspend({ ...claim, holdReason: "ask" }), "ok");
        assert.equal(await rig.store.settle(by(identity, claim.fence, decisions[kind])), "ok");
        assert.equal((await rig.mustFind(identity)).state, kind === "adopt" ? "completed" : "failed");
      }
    },
  },
  {
    id: "S16-stale",
    title: "S16 a record that moved since it was looked at is not settled and leaves no audit row",
    async run(rig) {
      for (const kind of kinds) {
        const identity = sampleIdentity(`key-${kind}`);
        const first = await rig.lapsed(identity, "a");
        await rig.lapsed(identity, "b");
        const before = await rig.snapshot(identity);
        assert.equal(await rig.store.settle(by(identity, first.claim.fence, decisions[kind])), "stale");
        assert.deepEqual(await rig.snapshot(identity), before);
        assert.equal((await rig.store.audit(identity)).length, 0);
      }
    },
  },
  {
    id: "S16-refused",
    title: "S16 a living owner, an answer and no record at all are told apart, and leave no audit row",
    async run(rig) {
      const live = await rig.grant(sampleIdentity("live"), "a");
      const done = await rig.completed(sampleIdentity("done"), "b");
      for (const kind of kinds) {
        const decision = decisions[kind];
        assert.equal(await rig.store.settle(by(live.claim.identity, live.claim.fence, decision)), "live");
        assert.equal(await rig.store.settle(by(done.claim.identity, done.claim.fence, decision)), "completed");
        assert.equal(await rig.store.settle(by(sampleIdentity("absent"), 1, decision)), "absent");
      }
      for (const identity of [live.claim.identity, done.claim.identity, sampleIdentity("absent")]) {
        assert.equal((await rig.store.audit(identity)).length, 0);
      }
      assert.equal(await rig.store.find(sampleIdentity("absent")), undefined);
      assertSame(asCompleted(await rig.claim(done.claim.identity, "c")).response, sampleResponse());
    },
  },
  {
    id: "S16-audit",
    title: "S16 each settlement leaves one audit row, in order, with actor, action, reason and the fence looked at",
    async run(rig) {
      const identity = sampleIdentity("key");
      const { claim } = await rig.lapsed(identity, "a");
      assert.equal(await rig.store.settle(by(identity, claim.fence, decisions.hold)), "ok");
      const held = await rig.mustFind(identity);
      assert.equal(await rig.store.settle(by(identity, held.fence, decisions.release)), "ok");
      const next = await rig.lapsed(identity, "b");
      assert.equal(await rig.store.settle(by(identity, next.claim.fence, decisions.adopt)), "ok");
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
  },
  {
    id: "S16-race",
    title: "S16 of two people and a new owner exactly one moves a lapsed record",
    async run(rig) {
      for (let round = 0; round < 10; round += 1) {
        const identity = sampleIdentity(`key-${round}`);
        const { claim } = await rig.grant(identity, "a");
        assert.equal(await rig.store.suspend(claim), "ok");
        const [adopted, released, next] = await Promise.all([
          rig.store.settle(by(identity, claim.fence, decisions.adopt)),
          rig.second.settle(by(identity, claim.fence, decisions.release)),
          rig.store.claim(rig.request(identity, "b", { takeover: "lapsed" })),
        ]);
        // A claim after a release is a second move of a record that is free again; the release itself then succeeded.
        const moved = [adopted === "ok", released === "ok", next.outcome === "granted" && next.origin === "lapsed"];
        assert.equal(moved.filter(Boolean).length, 1, JSON.stringify([adopted, released, next.outcome]));
        const rows = (await rig.store.audit(identity)).length;
        assert.equal(rows, moved[2] === true ? 0 : 1);
      }
    },
  },
];
