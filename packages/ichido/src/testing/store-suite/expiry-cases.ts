/** S8 store time, S9 fixed retention, S10 guarded expiry. */
import assert from "node:assert/strict";
import { limits } from "../../core/contract/defaults.ts";
import type { Claim } from "../../core/contract/store.ts";
import type { StoreCase } from "./case.ts";
import {
  asCompleted,
  asGranted,
  assertSame,
  leaseMsLong,
  leaseMsShort,
  retentionMsShort,
  tickMs,
  type Rig,
} from "./rig.ts";
import { sampleFingerprint, sampleIdentity, sampleResponse } from "./samples.ts";

const minuteMs = 60_000;
const hourMs = 3_600_000;
const other = sampleFingerprint("other");

/** Moves the store's clock in steps of one tick, ticking at each. */
async function runEvenly(rig: Rig, ms: number, intervalMs: number): Promise<boolean> {
  let { trusted } = await rig.store.tick({ intervalMs });
  for (let passed = 0; passed < ms; passed += intervalMs) {
    await rig.clock?.advanceMs(intervalMs);
    ({ trusted } = await rig.store.tick({ intervalMs }));
  }
  return trusted;
}

async function assertGuarded(rig: Rig, key: string): Promise<void> {
  asCompleted(await rig.claim(sampleIdentity(key), "guarded"));
  assert.equal((await rig.claim(sampleIdentity(key), "guarded", { fingerprint: other })).outcome, "mismatch");
  assertSame(await rig.store.sweep({ limit: 10, budgetMs: 1_000 }), { deleted: 0, more: false, guarded: true });
}

export const expiryCases: readonly StoreCase[] = [
  {
    id: "S8-durations",
    title: "S8 leases and retention are the durations asked for, on one clock",
    async run(rig) {
      const identity = sampleIdentity("key");
      const { granted } = await rig.grant(identity, "a", { leaseMs: 20_000, retentionMs: 7 * hourMs });
      const kept = granted.expiresAtMs - granted.createdAtMs;
      assert.ok(Math.abs(kept - 7 * hourMs) <= 1, `kept for ${kept} ms`);
      const left = (await rig.mustFind(identity)).leaseLeftMs ?? 0;
      assert.ok(left > 0 && left <= 20_000, `${left} ms of lease left`);
    },
  },
  {
    id: "S8-store-clock",
    title: "S8 a lease lapses by the store's clock, not by the clock of the process",
    needs: "clock",
    async run(rig) {
      const identity = sampleIdentity("key");
      await rig.grant(identity, "a", { leaseMs: leaseMsLong });
      await rig.clock?.advanceMs(leaseMsLong - 5_000);
      const answer = await rig.claim(identity, "b");
      assert.ok(answer.outcome === "processing" && answer.leaseLeftMs <= 5_000);
      await rig.clock?.advanceMs(5_001);
      assert.equal(asGranted(await rig.claim(identity, "b")).origin, "lapsed");
    },
  },
  {
    id: "S8-lease-ahead",
    title:
      "S8 a lease that lies further ahead than twice the longest one, because the clock went back, counts as lapsed",
    needs: "clock",
    async run(rig) {
      const identity = sampleIdentity("key");
      const first = await rig.grant(identity, "a", { leaseMs: leaseMsLong });
      await rig.clock?.advanceMs(-10 * minuteMs);
      const next = await rig.grant(identity, "b");
      assert.equal(next.granted.origin, "lapsed");
      assert.ok(next.granted.fence > first.granted.fence);
      assert.equal(await rig.store.complete({ ...first.claim, response: sampleResponse() }), "stale");
      assert.equal((await rig.claim(identity, "c")).outcome, "processing", "the new lease is measured by the new time");
    },
  },
  {
    id: "S8-longest-lease",
    title: "S8 the longest lease with a clock that steps back: a living owner never looks lapsed",
    needs: "clock",
    async run(rig) {
      const identity = sampleIdentity("key");
      const { claim } = await rig.grant(identity, "a", { leaseMs: limits.leaseMsMax });
      for (const backMs of [1, 1_000, limits.leaseMsMax - 2_000]) {
        await rig.clock?.advanceMs(-backMs);
        assert.equal((await rig.claim(identity, "b", { takeover: "open" })).outcome, "processing");
        const decision = { kind: "hold" } as const;
        const settled = await rig.store.settle({
          identity,
          fence: claim.fence,
          decision,
          actor: "on-call",
          reason: "no",
        });
        assert.equal(settled, "live");
        assert.equal((await rig.store.stats()).unknown, 0);
        assert.equal((await rig.store.list({ state: "unknown", limit: 10 })).records.length, 0);
      }
      // Where a statement may wait for a lock, a store allows for that wait, too.
      await rig.clock?.advanceMs(-10 * minuteMs);
      assert.equal(asGranted(await rig.claim(identity, "b")).origin, "lapsed", "an absurd lease locks nobody out");
    },
  },
  {
    id: "S8-ended",
    title: "S8 the time left of a lease that its owner or a person ended is 0, however long ago",
    async run(rig) {
      const ends = {
        suspended: (claim: Claim) => rig.store.suspend(claim),
        interim: (claim: Claim) => rig.store.suspend({ ...claim, interim: sampleResponse({ status: 202 }) }),
        held: (claim: Claim) => rig.store.suspend({ ...claim, holdReason: "ask" }),
        person: async (claim: Claim) => {
          const { identity, fence } = claim;
          await rig.untilLapsed(identity);
          const decision = { kind: "hold" } as const;
          return rig.store.settle({ identity, fence, decision, actor: "on-call", reason: "ask" });
        },
      };
      for (const [name, end] of Object.entries(ends)) {
        const identity = sampleIdentity(`key-${name}`);
        const { claim } = await rig.grant(identity, "a", { leaseMs: leaseMsShort });
        assert.equal(await end(claim), "ok");
        await rig.pass(20);
        assert.equal((await rig.mustFind(identity)).leaseLeftMs, 0, name);
        const { records } = await rig.second.list({ key: identity.key, state: "unknown", limit: 10 });
        assert.deepEqual(
          records.map((record) => record.leaseLeftMs),
          [0],
          name,
        );
      }
    },
  },
  {
    id: "S9-completed",
    title: "S9 an expired answer runs as new: attempt 1, new content, nothing left of the former life",
    async run(rig) {
      const identity = sampleIdentity("key");
      const first = await rig.grant(identity, "a", { retentionMs: retentionMsShort, labels: { order: "1" } });
      assert.equal(await rig.store.startStep({ ...first.claim, name: "charge", leaseMs: leaseMsLong }), "ok");
      assert.equal(await rig.store.complete({ ...first.claim, response: sampleResponse() }), "ok");
      const request = rig.request(identity, "b", { labels: { order: "2" }, takeover: "none" });
      const next = asGranted(await rig.claimWhile("completed", request));
      assert.equal(next.origin, "new");
      assert.equal(next.attempt, 1);
      assert.equal(next.stepsStarted, 0);
      assert.ok(next.createdAtMs > first.granted.createdAtMs);
      assert.ok(next.expiresAtMs - next.createdAtMs > retentionMsShort);
      assert.equal((await rig.store.steps(identity)).length, 0);
      const record = await rig.mustFind(identity);
      assert.equal(record.state, "processing");
      assert.equal(record.response, undefined);
      assertSame(record.labels, { order: "2" });
    },
  },
  {
    id: "S9-before-mismatch",
    title: "S9 expiry is tested before the fingerprint, for completed, failed and lapsed records alike",
    async run(rig) {
      const failed = await rig.grant(sampleIdentity("failed"), "a", { retentionMs: retentionMsShort });
      assert.equal(await rig.store.release(failed.claim), "ok");
      await rig.completed(sampleIdentity("completed"), "a", { retentionMs: retentionMsShort });
      await rig.grant(sampleIdentity("lapsed"), "a", { retentionMs: retentionMsShort, leaseMs: leaseMsShort });
      for (const key of ["failed", "completed", "lapsed"]) {
        const request = rig.request(sampleIdentity(key), "b", { fingerprint: other, takeover: "none" });
        const next = asGranted(await rig.claimWhile("mismatch", request));
        assert.equal(next.origin, "new", key);
        assert.equal(next.attempt, 1, key);
        assertSame(next.canonical, other.canonical);
      }
    },
  },
  {
    id: "S9-identity",
    title: "S9 an expired identity that is used again says whose it is and for what it is used now",
    async run(rig) {
      const former = sampleIdentity("key", { tenant: "one", principal: "p", operation: "payment.create" });
      await rig.completed(former, "a", { retentionMs: retentionMsShort });
      // A profile with one key space per principal leaves the operation out of the hash.
      const identity = { ...former, tenant: "two", principal: undefined, operation: "refund.create" };
      asGranted(await rig.claimWhile("completed", rig.request(identity, "b")));
      assertSame((await rig.mustFind(identity)).identity, identity);
      const { records } = await rig.store.list({ operation: "refund.create", limit: 10 });
      assert.equal(records.length, 1);
      assert.equal((await rig.store.list({ operation: "payment.create", limit: 10 })).records.length, 0);
    },
  },
  {
    id: "S9-race",
    title: "S9 of 20 concurrent claims of an expired identity exactly one is granted",
    async run(rig) {
      const identity = sampleIdentity("key");
      await rig.completed(identity, "a", { retentionMs: retentionMsShort });
      await rig.outliveRetention();
      await rig.eventually("one of the claims is granted", async () => {
        await rig.store.tick({ intervalMs: tickMs });
        const results = await Promise.all(
          Array.from({ length: 20 }, (_, index) =>
            (index % 2 === 0 ? rig.store : rig.second).claim(rig.request(identity, `b-${index}`)),
          ),
        );
        const granted = results.filter((result) => result.outcome === "granted");
        assert.ok(granted.length <= 1, `${granted.length} winners`);
        return granted.length === 1;
      });
    },
  },
  {
    id: "S9-not-extended",
    title: "S9 replays, renewals, takeovers, releases and completion do not extend the retention",
    async run(rig) {
      const identity = sampleIdentity("key");
      const first = await rig.lapsed(identity, "a");
      const { expiresAtMs } = first.granted;
      const second = await rig.grant(identity, "b", { retentionMs: 48 * hourMs });
      assert.deepEqual([...(await rig.store.renew([{ ...second.claim, leaseMs: leaseMsLong }]))], ["ok"]);
      assert.equal(await rig.store.release(second.claim), "ok");
      const third = await rig.grant(identity, "c", { retentionMs: 48 * hourMs });
      assert.equal(await rig.store.suspend(third.claim), "ok");
      const fourth = await rig.grant(identity, "d", { retentionMs: 48 * hourMs });
      assert.equal(await rig.store.complete({ ...fourth.claim, response: sampleResponse() }), "ok");
      const replay = asCompleted(await rig.claim(identity, "e", { retentionMs: 48 * hourMs }));
      assert.equal(replay.attempts, 4);
      assert.equal(replay.expiresAtMs, expiresAtMs);
      assert.equal((await rig.mustFind(identity)).expiresAtMs, expiresAtMs);
    },
  },
  {
    id: "S9-under-replays",
    title: "S9 an answer that is replayed all the time expires all the same",
    async run(rig) {
      const identity = sampleIdentity("key");
      await rig.completed(identity, "a", { retentionMs: retentionMsShort });
      asGranted(await rig.claimWhile("completed", rig.request(identity, "b", { retentionMs: retentionMsShort })));
    },
  },
  {
    id: "S10-no-ticks",
    title: "S10 without ticks nothing expires and nothing is swept",
    async run(rig) {
      await rig.completed(sampleIdentity("key"), "a", { retentionMs: retentionMsShort });
      await rig.pass(retentionMsShort + tickMs);
      await assertGuarded(rig, "key");
    },
  },
  {
    id: "S10-first-tick",
    title: "S10 the first tick is not trusted; even ticks over three intervals are",
    async run(rig) {
      assert.deepEqual(await rig.store.tick({ intervalMs: tickMs }), { trusted: false });
      await rig.trust();
      assert.deepEqual(await rig.second.tick({ intervalMs: 1_000_000 }), { trusted: false }, "three of ITS intervals");
    },
  },
  {
    id: "S10-forward",
    title: "S10 a clock that jumps 25 h ahead expires nothing until the ticks run evenly again",
    needs: "clock",
    async run(rig) {
      assert.ok(await runEvenly(rig, 5 * minuteMs, minuteMs));
      await rig.completed(sampleIdentity("key"), "a");
      await rig.clock?.advanceMs(25 * hourMs);
      await assertGuarded(rig, "key");
      assert.deepEqual(await rig.store.tick({ intervalMs: minuteMs }), { trusted: false });
      await assertGuarded(rig, "key");
      assert.equal(await runEvenly(rig, 2 * minuteMs, minuteMs), false);
      await assertGuarded(rig, "key");
      assert.equal(await runEvenly(rig, 2 * minuteMs, minuteMs), true);
      assert.equal(asGranted(await rig.claim(sampleIdentity("key"), "b", { fingerprint: other })).origin, "new");
    },
  },
  {
    id: "S10-backward",
    title: "S10 a clock that jumps back expires nothing until the ticks run evenly again",
    needs: "clock",
    async run(rig) {
      await rig.completed(sampleIdentity("key"), "a", { retentionMs: 10 * minuteMs });
      assert.ok(await runEvenly(rig, 12 * minuteMs, minuteMs));
      await rig.clock?.advanceMs(-30_000);
      await assertGuarded(rig, "key");
      assert.deepEqual(await rig.store.tick({ intervalMs: minuteMs }), { trusted: false });
      await assertGuarded(rig, "key");
      assert.equal(await runEvenly(rig, 4 * minuteMs, minuteMs), true);
      assert.equal(asGranted(await rig.claim(sampleIdentity("key"), "b", { fingerprint: other })).origin, "new");
    },
  },
  {
    id: "S10-gap",
    title: "S10 ticks may be late by up to three intervals, not more",
    needs: "clock",
    async run(rig) {
      assert.ok(await runEvenly(rig, 5 * minuteMs, minuteMs));
      await rig.clock?.advanceMs(3 * minuteMs - 1_000);
      assert.deepEqual(await rig.store.tick({ intervalMs: minuteMs }), { trusted: true });
      await rig.clock?.advanceMs(3 * minuteMs + 1_000);
      assert.deepEqual(await rig.store.tick({ intervalMs: minuteMs }), { trusted: false });
    },
  },
  {
    id: "S10-silence",
    title: "S10 when the ticks stop, expiry stops after three intervals",
    needs: "clock",
    async run(rig) {
      await rig.completed(sampleIdentity("key"), "a", { retentionMs: 10 * minuteMs });
      assert.ok(await runEvenly(rig, 8 * minuteMs, minuteMs));
      await rig.clock?.advanceMs(4 * minuteMs);
      await assertGuarded(rig, "key");
    },
  },
];
