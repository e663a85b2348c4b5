/** S5 fence, S6 growing fences. */
import assert from "node:assert/strict";
import type { Claim, Fenced, Store } from "../../core/contract/store.ts";
import type { StoreCase } from "./case.ts";
import { asGranted, assertSame, leaseMsLong, leaseMsShort, retentionMsShort, tickMs } from "./rig.ts";
import { sampleFingerprint, sampleIdentity, sampleOwner, sampleResponse } from "./samples.ts";

const result = new Uint8Array([1, 2, 3]);
const forged = sampleResponse({ status: 500, body: "zombie" });

/** Every verb that an owner may use on its record. */
const verbs: Readonly<Record<string, (store: Store, claim: Claim) => Promise<Fenced>>> = {
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
      assert.equal(await rig.store.startStep({ ...zombie.claim, name: "charge", leaseMs: leaseMsShort }), "ok");
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
      const failed = await rig.grant(sampleIdentity("failed"), "a");
      assert.equal(await rig.store.release(failed.claim), "ok");
      const beforeFailed = await rig.snapshot(failed.claim.identity);
      const next = await rig.completed(sampleIdentity("answered"), "b");
      const beforeAnswer = await rig.snapshot(next.claim.identity);
      const absent = { ...failed.claim, identity: sampleIdentity("absent") };

      assert.equal(await use(rig.store, failed.claim), verb === "release" ? "ok" : "stale");
      assert.equal(await use(rig.store, { ...next.claim, owner: sampleOwner("c") }), "stale");
      assert.equal(await use(rig.store, { ...next.claim, fence: next.claim.fence + 1 }), "stale");
      assert.equal(await use(rig.store, absent), "stale");

      assert.deepEqual(await rig.snapshot(failed.claim.identity), beforeFailed);
      assert.deepEqual(await rig.snapshot(next.claim.identity), beforeAnswer);
      assert.equal(await rig.store.find(absent.identity), undefined);
    },
  })),
  {
    id: "S5-answered",
    title: "S5 release, suspend and steps after the owner's own completion leave the answer alone",
    async run(rig) {
      const { claim } = await rig.completed(sampleIdentity("key"), "a");
      const before = await rig.snapshot(claim.identity);
      for (const verb of ["release", "suspend", "startStep", "finishStep"] as const) {
        assert.equal(await (verbs[verb] ?? assert.fail())(rig.store, claim), "stale");
      }
      assert.deepEqual(await rig.snapshot(claim.identity), before);
    },
  },
  {
    id: "S5-renew-ended",
    title: "S5 a heartbeat that was under way when its owner ended the lease does not keep others out",
    async run(rig) {
      const { claim } = await rig.grant(sampleIdentity("key"), "a");
      assert.equal(await rig.store.suspend({ ...claim, interim: sampleResponse({ status: 202 }) }), "ok");
      await rig.store.renew([{ ...claim, leaseMs: leaseMsLong }]);
      const result = await rig.second.claim(rig.request(claim.identity, "b"));
      assert.equal(result.outcome, "unknown");
    },
  },
  {
    id: "S5-renew-many",
    title: "S5 200 renewals in one call are answered in the order asked, ok and stale mixed",
    async run(rig) {
      const claims = await Promise.all(
        Array.from({ length: 200 }, async (_, index) => {
          const { claim } = await rig.grant(sampleIdentity(`key-${(index * 7919) % 1_000}`), `owner-${index}`);
          if (index % 5 === 1) return { ...claim, owner: sampleOwner("stranger") };
          if (index % 5 === 2) return { ...claim, fence: claim.fence - 1 };
          if (index % 50 === 3) return { ...claim, identity: sampleIdentity(`absent-${index}`) };
          return claim;
        }),
      );
      const expected = claims.map((_, index) =>
        index % 5 === 1 || index % 5 === 2 || index % 50 === 3 ? "stale" : "ok",
      );
      assert.deepEqual(
        [...(await rig.store.renew(claims.map((claim) => ({ ...claim, leaseMs: leaseMsLong }))))],
        expected,
      );
    },
  },
  {
    id: "S5-renew-none",
    title: "S5 renewing nothing answers nothing",
    async run(rig) {
      assert.deepEqual([...(await rig.store.renew([]))], []);
    },
  },
  {
    id: "S5-renew-each",
    title: "S5 renewals in one call keep their own lease durations",
    async run(rig) {
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
  },
  {
    id: "S5-renew-revives",
    title: "S5 a renewal revives a lapsed lease that nobody took",
    async run(rig) {
      const identity = sampleIdentity("key");
      const { claim } = await rig.lapsed(identity, "a");
      assert.deepEqual([...(await rig.store.renew([{ ...claim, leaseMs: leaseMsLong }]))], ["ok"]);
      assert.equal((await rig.claim(identity, "b")).outcome, "processing");
      assert.equal(await rig.store.complete({ ...claim, response: sampleResponse() }), "ok");
    },
  },
  {
    id: "S5-steps-renew",
    title: "S5 starting and finishing a step renews the lease",
    async run(rig) {
      for (const finish of [false, true]) {
        const { claim } = await rig.grant(sampleIdentity(`key-${finish}`), "a", { leaseMs: leaseMsShort });
        const name = "charge";
        assert.equal(await rig.store.startStep({ ...claim, name, leaseMs: finish ? leaseMsShort : leaseMsLong }), "ok");
        if (finish) assert.equal(await rig.store.finishStep({ ...claim, name, leaseMs: leaseMsLong, result }), "ok");
        await rig.pass(2 * leaseMsShort);
        assert.equal((await rig.claim(claim.identity, "b")).outcome, "processing");
      }
    },
  },
  {
    id: "S5-race",
    title: "S5 a late completion and a takeover never both succeed",
    async run(rig) {
      const claims = await Promise.all(
        Array.from({ length: 30 }, (_, index) =>
          rig.grant(sampleIdentity(`key-${index}`), "a", { leaseMs: leaseMsShort }),
        ),
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
  },
  {
    id: "S6-release",
    title: "S6 fences strictly grow over twenty releases and stay exact integers",
    async run(rig) {
      const identity = sampleIdentity("key");
      let last = 0;
      for (let attempt = 1; attempt <= 20; attempt += 1) {
        const { claim, granted } = await rig.grant(identity, `owner-${attempt}`);
        assert.ok(granted.fence > last && Number.isSafeInteger(granted.fence), `${granted.fence} after ${last}`);
        assert.equal(granted.attempt, attempt);
        last = granted.fence;
        assert.equal(await rig.store.release(claim), "ok");
      }
    },
  },
  {
    id: "S6-expiry",
    title: "S6 fences grow across expiry",
    async run(rig) {
      const identity = sampleIdentity("key");
      const first = await rig.completed(identity, "a", { retentionMs: retentionMsShort });
      const next = asGranted(await rig.claimWhile("completed", rig.request(identity, "b")));
      assert.ok(next.fence > first.granted.fence);
    },
  },
  {
    id: "S6-sweep",
    title: "S6 fences grow across deletion, and the former owner stays fenced",
    async run(rig) {
      const identity = sampleIdentity("key");
      const first = await rig.lapsed(identity, "a", { retentionMs: retentionMsShort });
      await rig.outliveRetention();
      await rig.sweepAll();
      assert.equal(await rig.store.find(identity), undefined);
      const next = await rig.grant(identity, "b", { fingerprint: sampleFingerprint("anew") });
      assert.equal(next.granted.origin, "new");
      assert.ok(next.granted.fence > first.granted.fence);
      assert.equal(await rig.store.complete({ ...first.claim, response: forged }), "stale");
    },
  },
  {
    id: "S6-clock-back",
    title: "S6 fences grow although the store's clock stepped back",
    needs: "clock",
    async run(rig) {
      const identity = sampleIdentity("key");
      const first = await rig.grant(identity, "a");
      assert.equal(await rig.store.release(first.claim), "ok");
      await rig.clock?.advanceMs(-3_600_000);
      const second = await rig.grant(identity, "b");
      assert.ok(second.granted.fence > first.granted.fence);
    },
  },
  {
    id: "S6-clock-back-sweep",
    title: "S6 fences grow across deletion and a clock that stepped back by less than the record's age",
    needs: "clock",
    async run(rig) {
      const identity = sampleIdentity("key");
      const first = await rig.completed(identity, "a", { retentionMs: retentionMsShort });
      await rig.outliveRetention();
      await rig.sweepAll();
      await rig.clock?.advanceMs(-(retentionMsShort - tickMs));
      const next = await rig.grant(identity, "b");
      assert.equal(next.granted.origin, "new");
      assert.ok(next.granted.fence > first.granted.fence);
      assertSame(next.granted.attempt, 1);
    },
  },
];
