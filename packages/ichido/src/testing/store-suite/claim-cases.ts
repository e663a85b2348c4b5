/** S1 one winner, S2 lost reply. */
import assert from "node:assert/strict";
import type { Identity } from "../../core/contract/record.ts";
import type { ClaimOrigin } from "../../core/contract/store.ts";
import { defineCases, type StoreCase } from "./case.ts";
import {
  asCompleted,
  asGranted,
  assertHas,
  assertSame,
  atOnce,
  leaseMsLong,
  leaseMsShort,
  theGranted,
  type Granted,
  type Rig,
} from "./rig.ts";
import { sampleIdentity, sampleResponse } from "./samples.ts";

/** How a second owner may come by a record, and what the first owner does before that. */
const takeovers: readonly (readonly [ClaimOrigin, (rig: Rig, identity: Identity) => Promise<unknown>])[] = [
  ["failed", (rig, identity) => rig.failed(identity, "a")],
  ["lapsed", (rig, identity) => rig.lapsed(identity, "a")],
  ["suspended", (rig, identity) => rig.suspended(identity, "a", { interim: sampleResponse({ status: 202 }) })],
];

export const claimCases: readonly StoreCase[] = [
  ...takeovers.map(([origin, leave]): StoreCase => ({
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
        assertHas(again, { origin, resent: true, attempt: 2, fence: first.fence });
        assert.equal((await store.find(identity))?.origin, origin, "a lost grant is given back by what it took");
      }
      await rig.store.suspend({ identity, owner: request.owner, fence: first.fence });
      const next = asGranted(await rig.claim(identity, "c", { takeover: "open" }));
      assert.notEqual(next.origin, "failed", "what was in doubt stays so for whoever comes next");
    },
  })),
  ...defineCases({
    "S1-race: of 50 concurrent claims through two connections exactly one is granted": async (rig, identity) => {
      const results = await rig.race(identity, 50);
      assertHas(theGranted(results), { origin: "new", attempt: 1 });
      for (const result of results) {
        if (result.outcome === "granted") continue;
        assert.ok(result.outcome === "processing");
        const { leaseLeftMs, attempts } = result;
        assert.equal(attempts, 1);
        assert.ok(leaseLeftMs > 0 && leaseLeftMs <= leaseMsLong, `${leaseLeftMs} ms of lease left`);
      }
    },
    "S1-many-keys: 40 keys raced for in parallel have one winner each": async (rig) => {
      const races = await atOnce(40, (index) => rig.race(sampleIdentity(`race-${index}`), 6));
      for (const results of races) theGranted(results);
    },
    "S1-scopes: the same key under another tenant, principal or operation is independent": async (rig) => {
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
        await rig.complete(claim, sampleResponse({ body: `${index}` }));
      }
      for (const [index, scope] of scopes.entries()) {
        const identity = sampleIdentity("key", scope);
        const answer = asCompleted(await rig.claim(identity, "late"));
        assertSame(answer.response, sampleResponse({ body: `${index}` }));
        assertSame((await rig.mustFind(identity)).identity, identity);
      }
    },
    "S1-grant: a grant tells fence, attempt, first-sight hash and times by the store's clock": async (
      rig,
      identity,
    ) => {
      const request = rig.request(identity, "a", { labels: { customer: "c-1" } });
      const granted = asGranted(await rig.store.claim(request));
      assert.ok(Number.isSafeInteger(granted.fence) && granted.fence > 0);
      assertHas(granted, { stepsStarted: 0, canonical: request.fingerprint.canonical });
      const { fence, createdAtMs, expiresAtMs } = granted;
      const { owner, labels = {} } = request;
      const record = await rig.mustFind(identity);
      assertHas(record, { state: "processing", owner, attempts: 1, stepsStarted: 0, response: undefined });
      assertHas(record, { fence, createdAtMs, expiresAtMs, labels, identity });
    },
    "S1-visible: what one connection claimed and completed, the other sees at once": async (rig, identity) => {
      const { claim } = await rig.grant(identity, "a");
      assert.equal((await rig.second.claim(rig.request(identity, "b"))).outcome, "processing");
      assert.equal(await rig.second.complete({ ...claim, response: sampleResponse() }), "ok");
      assertSame(asCompleted(await rig.claim(identity, "c")).response, sampleResponse());
      assertSame(asCompleted(await rig.second.claim(rig.request(identity, "d"))).response, sampleResponse());
    },
    "S2-again: a claim sent again by the same owner is granted with the same fence, attempt and origin, as resent":
      async (rig, identity) => {
        const first = await rig.grant(identity, "a");
        const { resent, fence, createdAtMs, expiresAtMs } = first.granted;
        assert.equal(resent, undefined);
        for (const store of [rig.store, rig.second]) {
          const again = asGranted(await store.claim(rig.request(identity, "a")));
          assertHas(again, { origin: "new", resent: true, fence, attempt: 1, createdAtMs, expiresAtMs });
        }
        await rig.complete(first.claim);
      },
    "S2-overlapping: copies of one claim that overlap are all granted with one fence": async (rig) => {
      const request = rig.request(sampleIdentity("key"), "a");
      const stores = [rig.store, rig.second, rig.store, rig.second, rig.store, rig.second];
      const results = (await Promise.all(stores.map((store) => store.claim(request)))).map(asGranted);
      assert.equal(new Set(results.map((result) => result.fence)).size, 1);
      assert.deepEqual(new Set(results.map((result) => result.attempt)), new Set([1]));
      assert.deepEqual(new Set(results.map((result) => result.origin)), new Set(["new"]));
      assert.equal(results.filter((result) => result.resent !== true).length, 1);
    },
    "S2-lapsed: a claim sent again after its own lease lapsed keeps its fence and has a lease again": async (
      rig,
      identity,
    ) => {
      const first = await rig.lapsed(identity, "a");
      const again = asGranted(await rig.claim(identity, "a", { leaseMs: leaseMsLong, takeover: "none" }));
      assertHas(again, { origin: "new", resent: true, fence: first.granted.fence });
      assert.equal((await rig.claim(identity, "b")).outcome, "processing");
    },
    "S2-takeover-group: lost replies of takeovers that travelled together: each is still lapsed, and none is another's":
      async (rig) => {
        const identities = Array.from({ length: 12 }, (_, index) => sampleIdentity(`key-${index}`));
        const first = await Promise.all(identities.map((identity, index) => rig.grant(identity, `a-${index}`)));
        // Some of the group get their record in another way: the answer to one must not become the answer to all.
        await Promise.all(
          first.map(({ claim }, index) => (index % 3 === 0 ? rig.store.release(claim) : rig.store.suspend(claim))),
        );
        const requests = identities.map((identity, index) => rig.request(identity, `b-${index}`));
        const claimAll = async (): Promise<readonly Granted[]> =>
          (await Promise.all(requests.map((request) => rig.store.claim(request)))).map(asGranted);
        const taken = await claimAll();
        const origins = taken.map((_, index) => (index % 3 === 0 ? "failed" : "lapsed"));
        assert.deepEqual(
          taken.map(({ origin, resent }) => [origin, resent]),
          origins.map((origin) => [origin, undefined]),
        );
        assert.deepEqual(
          (await claimAll()).map(({ origin, resent, fence }) => [origin, resent, fence]),
          origins.map((origin, index) => [origin, true, taken[index]?.fence]),
        );
      },
    "S2-completed: a claim sent again after its completion went through answers completed": async (rig, identity) => {
      const { granted } = await rig.completed(identity, "a");
      const again = asCompleted(await rig.claim(identity, "a"));
      assertHas(again, { response: sampleResponse(), fence: granted.fence, attempts: 1 });
    },
    "S2-overtaken: a claim sent again after someone else took over is not granted": async (rig, identity) => {
      await rig.lapsed(identity, "a", { leaseMs: leaseMsShort });
      await rig.grant(identity, "b");
      assert.equal((await rig.claim(identity, "a")).outcome, "processing");
    },
  }),
];
