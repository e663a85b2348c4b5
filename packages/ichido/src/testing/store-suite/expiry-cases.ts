/** S8 store time, S9 fixed retention, S10 guarded expiry. */
import assert from "node:assert/strict";
import type { Identity } from "../../core/contract/record.ts";
import type { Claim } from "../../core/contract/store.ts";
import { limits } from "../../core/contract/defaults.ts";
import { casesNeeding, defineCases, type StoreCase } from "./case.ts";
import {
  asCompleted,
  asGranted,
  assertHas,
  assertSame,
  keysOf,
  leaseMsLong,
  leaseMsShort,
  retentionMsShort,
  tickMs,
  type Rig,
} from "./rig.ts";
import { sampleFingerprint, sampleIdentity, sampleResponse, settlement } from "./samples.ts";

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

async function assertGuarded(rig: Rig, identity: Identity): Promise<void> {
  asCompleted(await rig.claim(identity, "guarded"));
  assert.equal((await rig.claim(identity, "guarded", { fingerprint: other })).outcome, "mismatch");
  assertSame(await rig.store.sweep({ limit: 10, budgetMs: 1_000 }), { deleted: 0, more: false, guarded: true });
}

export const expiryCases: readonly StoreCase[] = [
  ...defineCases({
    "S8-durations: leases and retention are the durations asked for, on one clock": async (rig, identity) => {
      const { granted } = await rig.grant(identity, "a", { leaseMs: 20_000, retentionMs: 7 * hourMs });
      const kept = granted.expiresAtMs - granted.createdAtMs;
      assert.ok(Math.abs(kept - 7 * hourMs) <= 1, `kept for ${kept} ms`);
      const left = (await rig.mustFind(identity)).leaseLeftMs ?? 0;
      assert.ok(left > 0 && left <= 20_000, `${left} ms of lease left`);
    },
    "S8-ended: the time left of a lease that its owner or a person ended is 0, however long ago": async (rig) => {
      const ends = {
        suspended: (claim: Claim) => rig.store.suspend(claim),
        interim: (claim: Claim) => rig.store.suspend({ ...claim, interim: sampleResponse({ status: 202 }) }),
        held: (claim: Claim) => rig.store.suspend({ ...claim, holdReason: "ask" }),
        person: async (claim: Claim) => {
          await rig.untilLapsed(claim.identity);
          return rig.store.settle(settlement(claim, { kind: "hold" }));
        },
      };
      for (const [name, end] of Object.entries(ends)) {
        const identity = sampleIdentity(`key-${name}`);
        const { claim } = await rig.grant(identity, "a", { leaseMs: leaseMsShort });
        assert.equal(await end(claim), "ok");
        await rig.pass(20);
        assert.equal((await rig.mustFind(identity)).leaseLeftMs, 0, name);
        const { records } = await rig.second.list({ key: identity.key, state: "unknown", limit: 10 });
        assert.equal(records.length, 1, name);
        assert.equal(records[0]?.leaseLeftMs, 0, name);
      }
    },
    "S9-completed: an expired answer runs as new: attempt 1, new content, nothing left of the former life": async (
      rig,
      identity,
    ) => {
      const first = await rig.grant(identity, "a", { retentionMs: retentionMsShort, labels: { order: "1" } });
      await rig.startStep(first.claim, "charge");
      await rig.complete(first.claim);
      const request = rig.request(identity, "b", { labels: { order: "2" }, takeover: "none" });
      const next = asGranted(await rig.claimWhile("completed", request));
      assertHas(next, { origin: "new", attempt: 1, stepsStarted: 0 });
      assert.ok(next.createdAtMs > first.granted.createdAtMs);
      assert.ok(next.expiresAtMs - next.createdAtMs > retentionMsShort);
      assert.equal((await rig.store.steps(identity)).length, 0);
      const labels = { order: "2" };
      assertHas(await rig.mustFind(identity), { state: "processing", response: undefined, labels });
    },
    "S9-before-mismatch: expiry is tested before the fingerprint, for completed, failed and lapsed records alike":
      async (rig) => {
        await rig.failed(sampleIdentity("failed"), "a", { retentionMs: retentionMsShort });
        await rig.completed(sampleIdentity("completed"), "a", { retentionMs: retentionMsShort });
        await rig.grant(sampleIdentity("lapsed"), "a", { retentionMs: retentionMsShort, leaseMs: leaseMsShort });
        for (const key of ["failed", "completed", "lapsed"]) {
          const request = rig.request(sampleIdentity(key), "b", { fingerprint: other, takeover: "none" });
          const next = asGranted(await rig.claimWhile("mismatch", request));
          assertHas(next, { origin: "new", attempt: 1, canonical: other.canonical }, key);
        }
      },
    "S9-identity: an expired identity that is used again says whose it is and for what it is used now": async (rig) => {
      const former = sampleIdentity("key", { tenant: "one", principal: "p", operation: "payment.create" });
      await rig.completed(former, "a", { retentionMs: retentionMsShort });
      // A profile with one key space per principal leaves the operation out of the hash.
      const identity = { ...former, tenant: "two", principal: undefined, operation: "refund.create" };
      asGranted(await rig.claimWhile("completed", rig.request(identity, "b")));
      assertSame((await rig.mustFind(identity)).identity, identity);
      assert.deepEqual(await keysOf(rig.store, { operation: "refund.create" }), ["key"]);
      assert.deepEqual(await keysOf(rig.store, { operation: "payment.create" }), []);
    },
    "S9-race: of 20 concurrent claims of an expired identity exactly one is granted": async (rig, identity) => {
      await rig.completed(identity, "a", { retentionMs: retentionMsShort });
      await rig.outliveRetention();
      await rig.eventually("one of the claims is granted", async () => {
        await rig.tick();
        const results = await rig.race(identity, 20);
        const granted = results.filter((result) => result.outcome === "granted");
        assert.ok(granted.length <= 1, `${granted.length} winners`);
        return granted.length === 1;
      });
    },
    "S9-not-extended: replays, renewals, takeovers, releases and completion do not extend the retention": async (
      rig,
      identity,
    ) => {
      const first = await rig.lapsed(identity, "a");
      const { expiresAtMs } = first.granted;
      const second = await rig.grant(identity, "b", { retentionMs: 48 * hourMs });
      await rig.renew(second.claim);
      assert.equal(await rig.store.release(second.claim), "ok");
      await rig.suspended(identity, "c", {}, { retentionMs: 48 * hourMs });
      const fourth = await rig.grant(identity, "d", { retentionMs: 48 * hourMs });
      await rig.complete(fourth.claim);
      const replay = asCompleted(await rig.claim(identity, "e", { retentionMs: 48 * hourMs }));
      assertHas(replay, { attempts: 4, expiresAtMs });
      assert.equal((await rig.mustFind(identity)).expiresAtMs, expiresAtMs);
    },
    "S9-under-replays: an answer that is replayed all the time expires all the same": async (rig, identity) => {
      await rig.completed(identity, "a", { retentionMs: retentionMsShort });
      asGranted(await rig.claimWhile("completed", rig.request(identity, "b", { retentionMs: retentionMsShort })));
    },
    "S10-no-ticks: without ticks nothing expires and nothing is swept": async (rig, identity) => {
      await rig.completed(identity, "a", { retentionMs: retentionMsShort });
      await rig.pass(retentionMsShort + tickMs);
      await assertGuarded(rig, identity);
    },
    "S10-first-tick: the first tick is not trusted; even ticks over three intervals are": async (rig) => {
      assert.deepEqual(await rig.tick(), { trusted: false });
      await rig.trust();
      assert.deepEqual(await rig.second.tick({ intervalMs: 1_000_000 }), { trusted: false }, "three of ITS intervals");
    },
  }),
  ...casesNeeding("clock", {
    "S8-store-clock: a lease lapses by the store's clock, not by the clock of the process": async (rig, identity) => {
      await rig.grant(identity, "a", { leaseMs: leaseMsLong });
      await rig.clock?.advanceMs(leaseMsLong - 5_000);
      const answer = await rig.claim(identity, "b");
      assert.ok(answer.outcome === "processing" && answer.leaseLeftMs <= 5_000);
      await rig.clock?.advanceMs(5_001);
      assert.equal(asGranted(await rig.claim(identity, "b")).origin, "lapsed");
    },
    "S8-lease-ahead: a lease that lies further ahead than twice the longest one, because the clock went back, counts as lapsed":
      async (rig, identity) => {
        const first = await rig.grant(identity, "a", { leaseMs: leaseMsLong });
        await rig.clock?.advanceMs(-10 * minuteMs);
        const next = await rig.grant(identity, "b");
        assert.equal(next.granted.origin, "lapsed");
        assert.ok(next.granted.fence > first.granted.fence);
        assert.equal(await rig.store.complete({ ...first.claim, response: sampleResponse() }), "stale");
        const late = await rig.claim(identity, "c");
        assert.equal(late.outcome, "processing", "the new lease is measured by the new time");
      },
    "S8-longest-lease: the longest lease with a clock that steps back: a living owner never looks lapsed": async (
      rig,
      identity,
    ) => {
      const { claim } = await rig.grant(identity, "a", { leaseMs: limits.leaseMsMax });
      for (const backMs of [1, 1_000, limits.leaseMsMax - 2_000]) {
        await rig.clock?.advanceMs(-backMs);
        assert.equal((await rig.claim(identity, "b", { takeover: "open" })).outcome, "processing");
        assert.equal(await rig.store.settle(settlement(claim, { kind: "hold" })), "live");
        assert.equal((await rig.store.stats()).unknown, 0);
        assert.deepEqual(await keysOf(rig.store, { state: "unknown" }), []);
      }
      // A store whose statements may wait for a lock adds that wait to its bound.
      await rig.clock?.advanceMs(-10 * minuteMs);
      const { leaseLeftMs = 0, state } = (await rig.store.find(identity)) ?? assert.fail();
      assert.equal(state, "unknown");
      assert.ok(leaseLeftMs < 0, "lapsed, not ended: nobody gave it back");
      assert.equal(asGranted(await rig.claim(identity, "b")).origin, "lapsed", "an absurd lease locks nobody out");
    },
    "S10-forward: a clock that jumps 25 h ahead expires nothing until the ticks run evenly again": async (
      rig,
      identity,
    ) => {
      assert.ok(await runEvenly(rig, 5 * minuteMs, minuteMs));
      await rig.completed(identity, "a");
      await rig.clock?.advanceMs(25 * hourMs);
      await assertGuarded(rig, identity);
      assert.deepEqual(await rig.store.tick({ intervalMs: minuteMs }), { trusted: false });
      await assertGuarded(rig, identity);
      assert.equal(await runEvenly(rig, 2 * minuteMs, minuteMs), false);
      await assertGuarded(rig, identity);
      assert.equal(await runEvenly(rig, 2 * minuteMs, minuteMs), true);
      assert.equal(asGranted(await rig.claim(identity, "b", { fingerprint: other })).origin, "new");
    },
    "S10-backward: a clock that jumps back expires nothing until the ticks run evenly again": async (rig, identity) => {
      await rig.completed(identity, "a", { retentionMs: 10 * minuteMs });
      assert.ok(await runEvenly(rig, 12 * minuteMs, minuteMs));
      await rig.clock?.advanceMs(-30_000);
      await assertGuarded(rig, identity);
      assert.deepEqual(await rig.store.tick({ intervalMs: minuteMs }), { trusted: false });
      await assertGuarded(rig, identity);
      assert.equal(await runEvenly(rig, 4 * minuteMs, minuteMs), true);
      assert.equal(asGranted(await rig.claim(identity, "b", { fingerprint: other })).origin, "new");
    },
    "S10-gap: ticks may be late by up to three intervals, not more": async (rig) => {
      assert.ok(await runEvenly(rig, 5 * minuteMs, minuteMs));
      await rig.clock?.advanceMs(3 * minuteMs - 1_000);
      assert.deepEqual(await rig.store.tick({ intervalMs: minuteMs }), { trusted: true });
      await rig.clock?.advanceMs(3 * minuteMs + 1_000);
      assert.deepEqual(await rig.store.tick({ intervalMs: minuteMs }), { trusted: false });
    },
    "S10-silence: when the ticks stop, expiry stops after three intervals": async (rig, identity) => {
      await rig.completed(identity, "a", { retentionMs: 10 * minuteMs });
      assert.ok(await runEvenly(rig, 8 * minuteMs, minuteMs));
      await rig.clock?.advanceMs(4 * minuteMs);
      await assertGuarded(rig, identity);
    },
  }),
];
