/** S4 takeover. */
import assert from "node:assert/strict";
import type { Takeover } from "../../core/contract/store.ts";
import { defineCases, type StoreCase } from "./case.ts";
import { asGranted, assertHas, assertSame, leaseMsShort, takeoverModes, theGranted } from "./rig.ts";
import { sampleIdentity, sampleResponse, settlement } from "./samples.ts";

const interim = sampleResponse({ status: 202, body: "pending" });

/** What each takeover mode answers for a record whose lease did not lapse by itself but was ended by its owner. */
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
  ...left.map(({ id, what, suspend, taken }): StoreCase => ({
    id: `S4-${id}`,
    title: `S4 a record ${what} is taken by ${taken.length === 0 ? "nobody" : `${taken.join(" and ")} only`}`,
    async run(rig) {
      for (const takeover of takeoverModes) {
        const identity = sampleIdentity(`key-${takeover}`);
        const first = await rig.suspended(identity, "a", suspend);
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
  ...defineCases({
    "S4-lapsed: a lapsed record is granted with a greater fence and the next attempt number; first sight stays": async (
      rig,
      identity,
    ) => {
      const first = await rig.lapsed(identity, "a", { labels: { order: "1" } });
      const { granted } = await rig.grant(identity, "b", { labels: { order: "2" }, retentionMs: 1_000 });
      const { fence, createdAtMs, expiresAtMs } = first.granted;
      assertHas(granted, { origin: "lapsed", attempt: 2, createdAtMs, expiresAtMs });
      assert.ok(granted.fence > fence);
      assertSame((await rig.mustFind(identity)).labels, { order: "1" });
    },
    "S4-lapsed-race: of 30 concurrent claims of a lapsed record exactly one takes it": async (rig, identity) => {
      await rig.lapsed(identity, "a");
      const results = await rig.race(identity, 30);
      assert.equal(theGranted(results).attempt, 2);
      assert.ok(results.every((result) => result.outcome === "granted" || result.outcome === "processing"));
    },
    "S4-failed-race: of 30 concurrent claims of a failed record exactly one takes it": async (rig, identity) => {
      const { claim } = await rig.failed(identity, "a");
      const winner = theGranted(await rig.race(identity, 30));
      assertHas(winner, { origin: "failed", attempt: 2 });
      assert.ok(winner.fence > claim.fence);
    },
    "S4-live: a living owner is never overtaken, whatever the mode": async (rig, identity) => {
      await rig.grant(identity, "a");
      for (const takeover of takeoverModes) {
        assert.equal((await rig.claim(identity, "b", { takeover })).outcome, "processing");
      }
    },
    "S4-none: takeover none leaves a lapsed record alone and tells its fence, but takes a failed one": async (rig) => {
      const lapsed = sampleIdentity("lapsed");
      const first = await rig.lapsed(lapsed, "a");
      const before = await rig.snapshot(lapsed);
      const answer = await rig.claim(lapsed, "b", { takeover: "none" });
      assertSame(answer, { outcome: "unknown", fence: first.granted.fence, attempts: 1 });
      assert.deepEqual(await rig.snapshot(lapsed), before);

      const failed = sampleIdentity("failed");
      await rig.failed(failed, "a");
      assert.equal(asGranted(await rig.claim(failed, "b", { takeover: "none" })).origin, "failed");
    },
    "S4-doubt-stays: an interim answer outlives a new owner that vanishes too, and ends with release or completion":
      async (rig, identity) => {
        await rig.suspended(identity, "a", { interim });
        const next = await rig.lapsed(identity, "b", { takeover: "open", leaseMs: leaseMsShort });
        assertSame(await rig.claim(identity, "c"), {
          outcome: "unknown",
          interim,
          fence: next.granted.fence,
          attempts: 2,
        });

        const third = await rig.grant(identity, "d", { takeover: "open" });
        assert.equal(await rig.store.suspend(third.claim), "ok", "ending the lease again says nothing new");
        assertSame(await rig.claim(identity, "e"), {
          outcome: "unknown",
          interim,
          fence: third.granted.fence,
          attempts: 3,
        });

        await rig.failed(identity, "f", { takeover: "open" });
        const fifth = await rig.grant(identity, "g", { takeover: "none" });
        assert.equal(fifth.granted.origin, "failed");
        await rig.complete(fifth.claim);
        assert.equal((await rig.mustFind(identity)).interim, undefined);
      },
    "S4-hold-settled: reconciler against hold: a record that a person put on hold since it was listed is taken by nobody":
      async (rig) => {
        const lapsed = await rig.lapsed(sampleIdentity("lapsed"), "a");
        const pending = await rig.suspended(sampleIdentity("pending"), "a", { interim });
        const failed = await rig.failed(sampleIdentity("failed"), "a");
        for (const { claim } of [lapsed, pending, failed]) {
          const { identity } = claim;
          const hold = settlement(claim, { kind: "hold" });
          assert.equal(await rig.second.settle(hold), "ok");
          const before = await rig.snapshot(identity);
          for (const takeover of takeoverModes) {
            for (const owner of ["a", "b"]) {
              const answer = await rig.claim(identity, owner, { takeover });
              assert.equal(answer.outcome, "unknown", `${identity.key}, ${takeover}, ${owner}`);
              assert.equal(answer.outcome === "unknown" && answer.holdReason, hold.reason);
            }
          }
          assert.deepEqual(await rig.snapshot(identity), before);
        }
      },
    "S4-own-doubt: an owner that left its record in doubt does not get it back by a copy of its claim": async (rig) => {
      for (const doubt of [{ interim }, { holdReason: "ask" }]) {
        const identity = sampleIdentity(`key ${Object.keys(doubt).join()}`);
        const { granted } = await rig.suspended(identity, "a", doubt);
        const before = await rig.snapshot(identity);
        assertSame(await rig.claim(identity, "a"), { outcome: "unknown", ...doubt, fence: granted.fence, attempts: 1 });
        assert.deepEqual(await rig.snapshot(identity), before);
      }
    },
    "S4-suspended-owner: an owner that suspended its record and was not overtaken may still complete it": async (
      rig,
      identity,
    ) => {
      const { claim } = await rig.suspended(identity, "a", { interim });
      await rig.complete(claim);
      assert.equal((await rig.claim(identity, "b")).outcome, "completed");
    },
  }),
];
