/** S5 fence, S6 growing fences. */
import assert from "node:assert/strict";
import type { Claim, Renewed, Store } from "../../core/contract/store.ts";
import { casesNeeding, defineCases, type StoreCase } from "./case.ts";
import { asGranted, assertHas, atOnce, leaseMsLong, leaseMsShort, retentionMsShort, tickMs } from "./rig.ts";
import { sampleFingerprint, sampleIdentity, sampleOwner, sampleResponse } from "./samples.ts";

const result = new Uint8Array([1, 2, 3]);
const forged = sampleResponse({ status: 500, body: "zombie" });

/** Every verb that an owner may use on its record. */
const verbs: Readonly<Record<string, (store: Store, claim: Claim) => Promise<Renewed>>> = {
  renew: async (store, claim) => (await store.renew([{ ...claim, leaseMs: leaseMsLong }]))[0] ?? assert.fail(),
  complete: (store, claim) => store.complete({ ...claim, response: forged }),
  release: (store, claim) => store.release(claim),
  suspend: (store, claim) => store.suspend({ ...claim, interim: forged, holdReason: "zombie" }),
  startStep: (store, claim) => store.startStep({ ...claim, name: "zombie", leaseMs: leaseMsLong }),
  finishStep: (store, claim) => store.finishStep({ ...claim, name: "charge", leaseMs: leaseMsLong, result }),
};

export const fenceCases: readonly StoreCase[] = [
  ...Object.entries(verbs).map(([verb, use]): StoreCase => ({
    id: `S5-${verb}`,
    title: `S5 ${verb} by anyone but the present owner and fence is stale and changes nothing`,
    async run(rig) {
      const identity = sampleIdentity("key");
      const zombie = await rig.lapsed(identity, "a");
      await rig.startStep(zombie.claim, "charge", leaseMsShort);
      await rig.untilLapsed(identity);
      const owner = await rig.grant(identity, "b");
      const strangers: readonly Claim[] = [
        zombie.claim,
        { ...zombie.claim, fence: owner.claim.fence },
        { ...owner.claim, fence: zombie.claim.fence },
        { ...owner.claim, fence: owner.claim.fence + 1 },
      ];
      const before = await rig.snapshot(identity);
      for (const stranger of strangers) {
        assert.equal(await use(rig.store, stranger), "stale");
        assert.equal(await use(rig.second, stranger), "stale");
      }
      assert.deepEqual(await rig.snapshot(identity), before);
      assert.equal(await use(rig.store, owner.claim), "ok", "the present owner is let through");
    },
  })),
  ...Object.entries(verbs).map(([verb, use]): StoreCase => ({
    id: `S5-${verb}-nobody`,
    title: `S5 ${verb} on a failed record${verb === "release" ? " again is ok" : " is stale"}, on someone's answer and on no record at all is stale`,
    async run(rig) {
      const failed = await rig.failed(sampleIdentity("failed"), "a");
      const next = await rig.completed(sampleIdentity("answered"), "b");
      const absent = { ...failed.claim, identity: sampleIdentity("absent") };
      const both = (): Promise<unknown> => Promise.all([failed, next].map(({ claim }) => rig.snapshot(claim.identity)));
      const before = await both();

      assert.equal(await use(rig.store, failed.claim), verb === "release" ? "ok" : "stale");
      assert.equal(await use(rig.store, { ...next.claim, owner: sampleOwner("c") }), "stale");
      assert.equal(await use(rig.store, { ...next.claim, fence: next.claim.fence + 1 }), "stale");
      assert.equal(await use(rig.store, absent), "stale");

      assert.deepEqual(await both(), before);
      await rig.mustBeGone("absent");
    },
  })),
  ...defineCases({
    "S5-answered: release, suspend and steps after the owner's own completion leave the answer alone": async (rig) => {
      const { claim } = await rig.completed(sampleIdentity("key"), "a");
      const before = await rig.snapshot(claim.identity);
      for (const verb of ["release", "suspend", "startStep", "finishStep"] as const) {
        assert.equal(await (verbs[verb] ?? assert.fail())(rig.store, claim), "stale");
      }
      assert.deepEqual(await rig.snapshot(claim.identity), before);
    },
    "S5-renew-ended: a heartbeat that was under way when its owner ended the lease does not keep others out": async (
      rig,
    ) => {
      const { claim } = await rig.suspended(sampleIdentity("key"), "a", { interim: sampleResponse({ status: 202 }) });
      await rig.store.renew([{ ...claim, leaseMs: leaseMsLong }]);
      assert.equal((await rig.second.claim(rig.request(claim.identity, "b"))).outcome, "unknown");
    },
    "S5-renew-many: 200 renewals in one call are answered in the order asked, ok and stale mixed": async (rig) => {
      const renewals = await atOnce(200, async (index) => {
        const { claim } = await rig.grant(sampleIdentity(`key-${(index * 7919) % 1_000}`), `owner-${index}`);
        const renewal = { ...claim, leaseMs: leaseMsLong };
        if (index % 5 === 1) return { ...renewal, owner: sampleOwner("stranger") };
        if (index % 5 === 2) return { ...renewal, fence: claim.fence - 1 };
        if (index % 50 === 3) return { ...renewal, identity: sampleIdentity(`absent-${index}`) };
        return renewal;
      });
      const isStale = (index: number): boolean => index % 5 === 1 || index % 5 === 2 || index % 50 === 3;
      const expected = renewals.map((_, index) => (isStale(index) ? "stale" : "ok"));
      assert.deepEqual([...(await rig.store.renew(renewals))], expected);
    },
    "S5-renew-none: renewing nothing answers nothing": async (rig) => {
      assert.deepEqual([...(await rig.store.renew([]))], []);
    },
    "S5-renew-each: renewals in one call keep their own lease durations": async (rig) => {
      const short = await rig.grant(sampleIdentity("short"), "a");
      const long = await rig.grant(sampleIdentity("long"), "b", { leaseMs: leaseMsShort });
      const answers = await rig.store.renew([
        { ...short.claim, leaseMs: leaseMsShort },
        { ...long.claim, leaseMs: leaseMsLong },
      ]);
      assert.deepEqual([...answers], ["ok", "ok"]);
      await rig.untilLapsed(short.claim.identity);
      assert.equal((await rig.claim(short.claim.identity, "c")).outcome, "granted");
      assert.equal((await rig.claim(long.claim.identity, "c")).outcome, "processing");
    },
    "S5-renew-revives: a renewal revives a lapsed lease that nobody took": async (rig, identity) => {
      const { claim } = await rig.lapsed(identity, "a");
      await rig.renew(claim);
      assert.equal((await rig.claim(identity, "b")).outcome, "processing");
      await rig.complete(claim);
    },
    "S5-steps-renew: starting and finishing a step renews the lease": async (rig) => {
      for (const finish of [false, true]) {
        const { claim } = await rig.grant(sampleIdentity(`key-${finish}`), "a", { leaseMs: leaseMsShort });
        await rig.startStep(claim, "charge", finish ? leaseMsShort : leaseMsLong);
        if (finish) await rig.finishStep(claim, "charge", result);
        await rig.pass(2 * leaseMsShort);
        assert.equal((await rig.claim(claim.identity, "b")).outcome, "processing");
      }
    },
    "S5-race: a late completion and a takeover never both succeed": async (rig) => {
      const claims = await atOnce(30, (index) =>
        rig.grant(sampleIdentity(`key-${index}`), "a", { leaseMs: leaseMsShort }),
      );
      for (const { claim } of claims) await rig.untilLapsed(claim.identity);
      await Promise.all(
        claims.map(async ({ claim }, index) => {
          const takeover = (): Promise<unknown> => rig.second.claim(rig.request(claim.identity, "b"));
          const complete = (): Promise<unknown> => rig.store.complete({ ...claim, response: forged });
          const order = index % 2 === 0 ? [takeover, complete] : [complete, takeover];
          const answers = await Promise.all(order.map((call) => call()));
          const taken = answers.some((answer) => (answer as { outcome?: string }).outcome === "granted");
          assert.equal(answers.includes("stale"), taken, "stale exactly when someone took over");
          assert.equal((await rig.mustFind(claim.identity)).state, taken ? "processing" : "completed");
        }),
      );
    },
    "S6-release: fences strictly grow over twenty releases and stay exact integers": async (rig, identity) => {
      let last = 0;
      for (let attempt = 1; attempt <= 20; attempt += 1) {
        const { claim, granted } = await rig.grant(identity, `owner-${attempt}`);
        assert.ok(granted.fence > last && Number.isSafeInteger(granted.fence), `${granted.fence} after ${last}`);
        assert.equal(granted.attempt, attempt);
        last = granted.fence;
        assert.equal(await rig.store.release(claim), "ok");
      }
    },
    "S6-expiry: fences grow across expiry": async (rig, identity) => {
      const first = await rig.completed(identity, "a", { retentionMs: retentionMsShort });
      const next = asGranted(await rig.claimWhile("completed", rig.request(identity, "b")));
      assert.ok(next.fence > first.granted.fence);
    },
    "S6-sweep: fences grow across deletion, and the former owner stays fenced": async (rig, identity) => {
      const first = await rig.lapsed(identity, "a", { retentionMs: retentionMsShort });
      await rig.sweepExpired();
      assert.equal(await rig.store.find(identity), undefined);
      const next = await rig.grant(identity, "b", { fingerprint: sampleFingerprint("anew") });
      assert.equal(next.granted.origin, "new");
      assert.ok(next.granted.fence > first.granted.fence);
      assert.equal(await rig.store.complete({ ...first.claim, response: forged }), "stale");
    },
  }),
  ...casesNeeding("clock", {
    "S6-clock-back: fences grow although the store's clock stepped back": async (rig, identity) => {
      const first = await rig.failed(identity, "a");
      await rig.clock?.advanceMs(-3_600_000);
      const second = await rig.grant(identity, "b");
      assert.ok(second.granted.fence > first.granted.fence);
    },
    "S6-clock-back-sweep: fences grow across deletion and a clock that stepped back by less than the record's age":
      async (rig, identity) => {
        const first = await rig.completed(identity, "a", { retentionMs: retentionMsShort });
        await rig.sweepExpired();
        await rig.clock?.advanceMs(-(retentionMsShort - tickMs));
        const next = await rig.grant(identity, "b");
        assertHas(next.granted, { origin: "new", attempt: 1 });
        assert.ok(next.granted.fence > first.granted.fence);
      },
  }),
];
