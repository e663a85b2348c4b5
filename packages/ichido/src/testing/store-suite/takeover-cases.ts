/** S4 takeover. */
import assert from "node:assert/strict";
import type { Identity } from "../../core/contract/record.ts";
import type { ClaimResult, Takeover } from "../../core/contract/store.ts";
import type { StoreCase } from "./case.ts";
import { asGranted, assertSame, leaseMsShort, type Rig } from "./rig.ts";
import { sampleIdentity, sampleResponse } from "./samples.ts";

const interim = sampleResponse({ status: 202, body: "pending" });

function rush(rig: Rig, identity: Identity, claimants: number): Promise<ClaimResult[]> {
  return Promise.all(
    Array.from({ length: claimants }, (_, index) =>
      (index % 2 === 0 ? rig.store : rig.second).claim(rig.request(identity, `rush-${index}`)),
    ),
  );
}

/** What each takeover mode gets of a record that is not lapsed by itself but was left by its owner. */
const left: readonly {
  readonly id: string;
  readonly what: string;
  readonly suspend: { readonly interim?: typeof interim; readonly holdReason?: string };
  readonly taken: readonly Takeover[];
}[] = [
  { id: "suspended", what: "ended by its owner without an answer", suspend: {}, taken: ["lapsed", "open"] },
  { id: "interim", what: "suspended with an interim answer", suspend: { interim }, taken: ["open"] },
  { id: "hold", what: "put on hold", suspend: { holdReason: "ask the bank" }, taken: [] },
  { id: "both", what: "on hold with an interim answer", suspend: { interim, holdReason: "ask" }, taken: [] },
];

export const takeoverCases: readonly StoreCase[] = [
  {
    id: "S4-lapsed",
    title: "S4 a lapsed record is granted with a greater fence and the next attempt number; first sight stays",
    async run(rig) {
      const identity = sampleIdentity("key");
      const first = await rig.lapsed(identity, "a", { labels: { order: "1" } });
      const { granted } = await rig.grant(identity, "b", { labels: { order: "2" }, retentionMs: 1_000 });
      assert.equal(granted.origin, "lapsed");
      assert.ok(granted.fence > first.granted.fence);
      assert.equal(granted.attempt, 2);
      assert.equal(granted.createdAtMs, first.granted.createdAtMs);
      assert.equal(granted.expiresAtMs, first.granted.expiresAtMs);
      assertSame((await rig.mustFind(identity)).labels, { order: "1" });
    },
  },
  {
    id: "S4-lapsed-race",
    title: "S4 of 30 concurrent claims of a lapsed record exactly one takes it",
    async run(rig) {
      const identity = sampleIdentity("key");
      await rig.lapsed(identity, "a");
      const results = await rush(rig, identity, 30);
      const granted = results.filter((result) => result.outcome === "granted");
      assert.equal(granted.length, 1);
      assert.equal(asGranted(granted[0] ?? assert.fail()).attempt, 2);
      assert.ok(results.every((result) => result.outcome === "granted" || result.outcome === "processing"));
    },
  },
  {
    id: "S4-failed-race",
    title: "S4 of 30 concurrent claims of a failed record exactly one takes it",
    async run(rig) {
      const identity = sampleIdentity("key");
      const { claim } = await rig.grant(identity, "a");
      assert.equal(await rig.store.release(claim), "ok");
      const results = await rush(rig, identity, 30);
      const granted = results.filter((result) => result.outcome === "granted");
      assert.equal(granted.length, 1);
      const winner = asGranted(granted[0] ?? assert.fail());
      assert.equal(winner.origin, "failed");
      assert.equal(winner.attempt, 2);
      assert.ok(winner.fence > claim.fence);
    },
  },
  {
    id: "S4-live",
    title: "S4 a living owner is never overtaken, whatever the mode",
    async run(rig) {
      const identity = sampleIdentity("key");
      await rig.grant(identity, "a");
      for (const takeover of ["none", "lapsed", "open"] as const) {
        assert.equal((await rig.claim(identity, "b", { takeover })).outcome, "processing");
      }
    },
  },
  {
    id: "S4-none",
    title: "S4 takeover none leaves a lapsed record alone and tells its fence, but takes a failed one",
    async run(rig) {
      const lapsed = sampleIdentity("lapsed");
      const first = await rig.lapsed(lapsed, "a");
      const before = await rig.snapshot(lapsed);
      const answer = await rig.claim(lapsed, "b", { takeover: "none" });
      assertSame(answer, { outcome: "unknown", fence: first.granted.fence, attempts: 1 });
      assert.deepEqual(await rig.snapshot(lapsed), before);

      const failed = sampleIdentity("failed");
      const { claim } = await rig.grant(failed, "a");
      assert.equal(await rig.store.release(claim), "ok");
      assert.equal(asGranted(await rig.claim(failed, "b", { takeover: "none" })).origin, "failed");
    },
  },
  ...left.map(({ id, what, suspend, taken }): StoreCase => ({
    id: `S4-${id}`,
    title: `S4 a record ${what} is taken by ${taken.length === 0 ? "nobody" : `${taken.join(" and ")} only`}`,
    async run(rig) {
      for (const takeover of ["none", "lapsed", "open"] as const) {
        const identity = sampleIdentity(`key-${takeover}`);
        const first = await rig.grant(identity, "a");
        assert.equal(await rig.store.suspend({ ...first.claim, ...suspend }), "ok");
        const answer = await rig.claim(identity, "b", { takeover });
        if (taken.includes(takeover)) {
          const granted = asGranted(answer);
          assert.ok(granted.fence > first.granted.fence);
          assert.equal(granted.attempt, 2);
          if (!taken.includes("lapsed")) assert.equal(granted.origin, "suspended");
        } else {
          assertSame(answer, { outcome: "unknown", ...suspend, fence: first.granted.fence, attempts: 1 });
        }
      }
    },
  })),
  {
    id: "S4-doubt-stays",
    title: "S4 an interim answer outlives a new owner that vanishes too, and ends with release or completion",
    async run(rig) {
      const identity = sampleIdentity("key");
      const first = await rig.grant(identity, "a");
      assert.equal(await rig.store.suspend({ ...first.claim, interim }), "ok");
      const next = await rig.lapsed(identity, "b", { takeover: "open", leaseMs: leaseMsShort });
      const answer = await rig.claim(identity, "c");
      assertSame(answer, { outcome: "unknown", interim, fence: next.granted.fence, attempts: 2 });

      const third = await rig.grant(identity, "d", { takeover: "open" });
      assert.equal(await rig.store.suspend(third.claim), "ok", "ending the lease again says nothing new");
      const still = await rig.claim(identity, "e");
      assertSame(still, { outcome: "unknown", interim, fence: third.granted.fence, attempts: 3 });

      const fourth = await rig.grant(identity, "f", { takeover: "open" });
      assert.equal(await rig.store.release(fourth.claim), "ok");
      const fifth = await rig.grant(identity, "g", { takeover: "none" });
      assert.equal(fifth.granted.origin, "failed");
      assert.equal(await rig.store.complete({ ...fifth.claim, response: sampleResponse() }), "ok");
      const record = await rig.mustFind(identity);
      assert.equal(record.interim, undefined);
    },
  },
  {
    id: "S4-hold-settled",
    title: "S4 reconciler against hold: a record that a person put on hold since it was listed is taken by nobody",
    async run(rig) {
      const lapsed = await rig.lapsed(sampleIdentity("lapsed"), "a");
      const pending = await rig.grant(sampleIdentity("pending"), "a");
      assert.equal(await rig.store.suspend({ ...pending.claim, interim }), "ok");
      const failed = await rig.grant(sampleIdentity("failed"), "a");
      assert.equal(await rig.store.release(failed.claim), "ok");
      for (const { identity, fence } of [lapsed.claim, pending.claim, failed.claim]) {
        const hold = { identity, fence, decision: { kind: "hold" }, actor: "on-call", reason: "do not run" } as const;
        assert.equal(await rig.second.settle(hold), "ok");
        const before = await rig.snapshot(identity);
        for (const takeover of ["none", "lapsed", "open"] as const) {
          for (const owner of ["a", "b"]) {
            const answer = await rig.claim(identity, owner, { takeover });
            assert.equal(answer.outcome, "unknown", `${identity.key}, ${takeover}, ${owner}`);
            assert.equal(answer.outcome === "unknown" && answer.holdReason, "do not run");
          }
        }
        assert.deepEqual(await rig.snapshot(identity), before);
      }
    },
  },
  {
    id: "S4-own-doubt",
    title: "S4 an owner that left its record in doubt does not get it back by a copy of its claim",
    async run(rig) {
      for (const doubt of [{ interim }, { holdReason: "ask" }]) {
        const identity = sampleIdentity(`key ${Object.keys(doubt).join()}`);
        const { claim, granted } = await rig.grant(identity, "a");
        assert.equal(await rig.store.suspend({ ...claim, ...doubt }), "ok");
        const before = await rig.snapshot(identity);
        const copy = await rig.claim(identity, "a");
        assertSame(copy, { outcome: "unknown", ...doubt, fence: granted.fence, attempts: 1 });
        assert.deepEqual(await rig.snapshot(identity), before);
      }
    },
  },
  {
    id: "S4-suspended-owner",
    title: "S4 an owner that suspended its record and was not overtaken may still complete it",
    async run(rig) {
      const identity = sampleIdentity("key");
      const { claim } = await rig.grant(identity, "a");
      assert.equal(await rig.store.suspend({ ...claim, interim }), "ok");
      assert.equal(await rig.store.complete({ ...claim, response: sampleResponse() }), "ok");
      const answer = await rig.claim(identity, "b");
      assert.equal(answer.outcome, "completed");
    },
  },
];
