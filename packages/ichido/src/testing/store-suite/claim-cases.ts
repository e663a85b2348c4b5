/** S1 one winner, S2 lost reply. */
import assert from "node:assert/strict";
import type { Identity } from "../../core/contract/record.ts";
import type { ClaimResult } from "../../core/contract/store.ts";
import type { StoreCase } from "./case.ts";
import { asCompleted, asGranted, assertSame, leaseMsLong, leaseMsShort, type Rig } from "./rig.ts";
import { sampleIdentity, sampleResponse } from "./samples.ts";

/** Claims of one identity by distinct owners, sent at once through both views. */
function race(rig: Rig, key: string, claimants: number): Promise<ClaimResult[]> {
  const identity = sampleIdentity(key);
  return Promise.all(
    Array.from({ length: claimants }, (_, index) =>
      (index % 2 === 0 ? rig.store : rig.second).claim(rig.request(identity, `${key}-${index}`)),
    ),
  );
}

/** How a second owner may come by a record, and what the first one did for that. */
const takeovers: readonly {
  readonly origin: "failed" | "lapsed" | "suspended";
  readonly leave: (rig: Rig, identity: Identity) => Promise<void>;
}[] = [
  {
    origin: "failed",
    async leave(rig, identity) {
      const { claim } = await rig.grant(identity, "a");
      assert.equal(await rig.store.release(claim), "ok");
    },
  },
  {
    origin: "lapsed",
    async leave(rig, identity) {
      await rig.lapsed(identity, "a");
    },
  },
  {
    origin: "suspended",
    async leave(rig, identity) {
      const { claim } = await rig.grant(identity, "a");
      assert.equal(await rig.store.suspend({ ...claim, interim: sampleResponse({ status: 202 }) }), "ok");
    },
  },
];

export const claimCases: readonly StoreCase[] = [
  {
    id: "S1-race",
    title: "S1 of 50 concurrent claims through two connections exactly one is granted",
    async run(rig) {
      const results = await race(rig, "race", 50);
      const granted = results.filter((result) => result.outcome === "granted");
      assert.equal(granted.length, 1);
      assert.equal(asGranted(granted[0] ?? assert.fail()).origin, "new");
      assert.equal(asGranted(granted[0] ?? assert.fail()).attempt, 1);
      for (const result of results) {
        if (result.outcome === "granted") continue;
        assert.equal(result.outcome, "processing");
        assert.equal(result.attempts, 1);
        assert.ok(
          result.leaseLeftMs > 0 && result.leaseLeftMs <= leaseMsLong,
          `${result.leaseLeftMs} ms of lease left`,
        );
      }
    },
  },
  {
    id: "S1-many-keys",
    title: "S1 40 keys raced for in parallel have one winner each",
    async run(rig) {
      const races = await Promise.all(Array.from({ length: 40 }, (_, index) => race(rig, `race-${index}`, 6)));
      for (const results of races) {
        assert.equal(results.filter((result) => result.outcome === "granted").length, 1);
      }
    },
  },
  {
    id: "S1-scopes",
    title: "S1 the same key under another tenant, principal or operation is independent",
    async run(rig) {
      const scopes = [
        {},
        { tenant: "a" },
        { principal: "a" },
        { tenant: "a", principal: "b" },
        { tenant: "b", principal: "a" },
        { tenant: "ab" },
        { operation: "other" },
      ];
      for (const [index, scope] of scopes.entries()) {
        const { granted, claim } = await rig.grant(sampleIdentity("key", scope), `owner-${index}`);
        assert.equal(granted.origin, "new");
        const response = sampleResponse({ body: `${index}` });
        assert.equal(await rig.store.complete({ ...claim, response }), "ok");
      }
      for (const [index, scope] of scopes.entries()) {
        const identity = sampleIdentity("key", scope);
        const answer = asCompleted(await rig.claim(identity, "late"));
        assertSame(answer.response, sampleResponse({ body: `${index}` }));
        assertSame((await rig.mustFind(identity)).identity, identity);
      }
    },
  },
  {
    id: "S1-grant",
    title: "S1 a grant tells fence, attempt, first-sight hash and times by the store's clock",
    async run(rig) {
      const identity = sampleIdentity("key");
      const request = rig.request(identity, "a", { labels: { customer: "c-1" } });
      const granted = asGranted(await rig.store.claim(request));
      assert.ok(Number.isSafeInteger(granted.fence) && granted.fence > 0);
      assert.equal(granted.stepsStarted, 0);
      assertSame(granted.canonical, request.fingerprint.canonical);
      const record = await rig.mustFind(identity);
      assert.equal(record.state, "processing");
      assert.equal(record.owner, request.owner);
      assert.equal(record.fence, granted.fence);
      assert.equal(record.attempts, 1);
      assert.equal(record.stepsStarted, 0);
      assert.equal(record.createdAtMs, granted.createdAtMs);
      assert.equal(record.expiresAtMs, granted.expiresAtMs);
      assert.equal(record.response, undefined);
      assertSame(record.labels, { customer: "c-1" });
      assertSame(record.identity, identity);
    },
  },
  {
    id: "S1-visible",
    title: "S1 what one connection claimed and completed, the other sees at once",
    async run(rig) {
      const identity = sampleIdentity("key");
      const { claim } = await rig.grant(identity, "a");
      assert.equal((await rig.second.claim(rig.request(identity, "b"))).outcome, "processing");
      assert.equal(await rig.second.complete({ ...claim, response: sampleResponse() }), "ok");
      assertSame(asCompleted(await rig.claim(identity, "c")).response, sampleResponse());
      assertSame(asCompleted(await rig.second.claim(rig.request(identity, "d"))).response, sampleResponse());
    },
  },
  {
    id: "S2-again",
    title: "S2 a claim sent again by the same owner is granted with the same fence, attempt and origin, as resent",
    async run(rig) {
      const identity = sampleIdentity("key");
      const first = await rig.grant(identity, "a");
      assert.equal(first.granted.resent, undefined);
      for (const store of [rig.store, rig.second]) {
        const again = asGranted(await store.claim(rig.request(identity, "a")));
        assert.deepEqual([again.origin, again.resent], ["new", true]);
        assert.equal(again.fence, first.granted.fence);
        assert.equal(again.attempt, 1);
        assert.equal(again.createdAtMs, first.granted.createdAtMs);
        assert.equal(again.expiresAtMs, first.granted.expiresAtMs);
      }
      assert.equal(await rig.store.complete({ ...first.claim, response: sampleResponse() }), "ok");
    },
  },
  {
    id: "S2-overlapping",
    title: "S2 copies of one claim that overlap are all granted with one fence",
    async run(rig) {
      const request = rig.request(sampleIdentity("key"), "a");
      const stores = [rig.store, rig.second, rig.store, rig.second, rig.store, rig.second];
      const results = (await Promise.all(stores.map((store) => store.claim(request)))).map(asGranted);
      assert.equal(new Set(results.map((result) => result.fence)).size, 1);
      assert.deepEqual(new Set(results.map((result) => result.attempt)), new Set([1]));
      assert.deepEqual(new Set(results.map((result) => result.origin)), new Set(["new"]));
      assert.equal(results.filter((result) => result.resent !== true).length, 1);
    },
  },
  {
    id: "S2-lapsed",
    title: "S2 a claim sent again after its own lease lapsed keeps its fence and has a lease again",
    async run(rig) {
      const identity = sampleIdentity("key");
      const first = await rig.lapsed(identity, "a");
      const again = asGranted(await rig.claim(identity, "a", { leaseMs: leaseMsLong, takeover: "none" }));
      assert.deepEqual([again.origin, again.resent], ["new", true]);
      assert.equal(again.fence, first.granted.fence);
      assert.equal((await rig.claim(identity, "b")).outcome, "processing");
    },
  },
  ...takeovers.map(({ origin, leave }): StoreCase => ({
    id: `S2-takeover-${origin}`,
    title: `S2 a lost reply of a takeover: sent again it is granted with the same fence, and its origin is still ${origin}`,
    async run(rig) {
      const identity = sampleIdentity("key");
      await leave(rig, identity);
      const request = rig.request(identity, "b", { takeover: "open" });
      const first = asGranted(await rig.store.claim(request));
      assert.deepEqual([first.origin, first.resent, first.attempt], [origin, undefined, 2]);
      for (const store of [rig.second, rig.store]) {
        const again = asGranted(await store.claim(request));
        assert.deepEqual([again.origin, again.resent, again.attempt], [origin, true, 2]);
        assert.equal(again.fence, first.fence);
        assert.equal((await store.find(identity))?.origin, origin, "a lost grant is given back by what it took");
      }
      await rig.store.suspend({ identity, owner: request.owner, fence: first.fence });
      const next = asGranted(await rig.claim(identity, "c", { takeover: "open" }));
      assert.notEqual(next.origin, "failed", "what was in doubt stays so for whoever comes next");
    },
  })),
  {
    id: "S2-takeover-group",
    title: "S2 lost replies of takeovers that travelled together: each is still lapsed, and none is another's",
    async run(rig) {
      const identities = Array.from({ length: 12 }, (_, index) => sampleIdentity(`key-${index}`));
      const first = await Promise.all(identities.map((identity, index) => rig.grant(identity, `a-${index}`)));
      // Some of the group come by their record otherwise: what one was told must not become the answer of all.
      await Promise.all(
        first.map(({ claim }, index) => (index % 3 === 0 ? rig.store.release(claim) : rig.store.suspend(claim))),
      );
      const requests = identities.map((identity, index) => rig.request(identity, `b-${index}`));
      const taken = (await Promise.all(requests.map((request) => rig.store.claim(request)))).map(asGranted);
      const origins = taken.map((_, index) => (index % 3 === 0 ? "failed" : "lapsed"));
      assert.deepEqual(
        taken.map(({ origin, resent }) => [origin, resent]),
        origins.map((origin) => [origin, undefined]),
      );
      const again = (await Promise.all(requests.map((request) => rig.store.claim(request)))).map(asGranted);
      assert.deepEqual(
        again.map(({ origin, resent, fence }) => [origin, resent, fence]),
        origins.map((origin, index) => [origin, true, taken[index]?.fence]),
      );
    },
  },
  {
    id: "S2-completed",
    title: "S2 a claim sent again after its completion went through answers completed",
    async run(rig) {
      const identity = sampleIdentity("key");
      const { granted } = await rig.completed(identity, "a");
      const again = asCompleted(await rig.claim(identity, "a"));
      assertSame(again.response, sampleResponse());
      assert.equal(again.fence, granted.fence);
      assert.equal(again.attempts, 1);
    },
  },
  {
    id: "S2-overtaken",
    title: "S2 a claim sent again after someone else took over is not granted",
    async run(rig) {
      const identity = sampleIdentity("key");
      await rig.lapsed(identity, "a", { leaseMs: leaseMsShort });
      await rig.grant(identity, "b");
      const again = await rig.claim(identity, "a");
      assert.equal(again.outcome, "processing");
    },
  },
];
