/** S11 never under way, S12 bounded sweep. */
import assert from "node:assert/strict";
import type { Claim, ClaimRequest } from "../../core/contract/store.ts";
import { casesNeeding, defineCases, type StoreCase } from "./case.ts";
import { assertSame, atOnce, leaseMsLong, leaseMsShort, retentionMsShort, type Rig } from "./rig.ts";
import { sampleFingerprint, sampleIdentity, sampleResponse, settlement } from "./samples.ts";

const result = new Uint8Array([7]);
const charge = { name: "charge", leaseMs: leaseMsShort };
/** So short that eight times as long has passed when a usual retention has passed. */
const retentionMsBrief = retentionMsShort / 10;

/** Why a record must be kept past its retention; `outcome` is the answer to another owner's claim. */
const kept: Readonly<
  Record<
    string,
    {
      readonly what: string;
      readonly outcome: "processing" | "unknown" | "granted";
      readonly make: (rig: Rig, claim: Claim) => Promise<unknown>;
      readonly asked?: Partial<ClaimRequest>;
    }
  >
> = {
  "doubt-lapsed": {
    what: "a doubt that must outlive its retention, whose owner vanished",
    outcome: "unknown",
    asked: { doubtStays: true, leaseMs: leaseMsShort },
    make: async () => "ok",
  },
  "doubt-suspended": {
    what: "a doubt that must outlive its retention, whose owner ended its lease",
    outcome: "unknown",
    asked: { doubtStays: true },
    make: (rig, claim) => rig.store.suspend(claim),
  },
  "doubt-taken": {
    what: "a doubt that the next owner wants to outlive its retention",
    outcome: "unknown",
    async make(rig, claim) {
      assert.equal(await rig.store.release(claim), "ok");
      await rig.suspended(claim.identity, "next", {}, { doubtStays: true });
      // A later claim without `doubtStays` does not remove it.
      await rig.suspended(claim.identity, "last");
      return "ok";
    },
  },
  live: {
    what: "a living owner",
    outcome: "processing",
    make: async (rig, claim) => (await rig.store.renew([{ ...claim, leaseMs: leaseMsLong }]))[0],
  },
  started: {
    what: "a started step",
    outcome: "unknown",
    make: (rig, claim) => rig.store.startStep({ ...claim, ...charge }),
  },
  finished: {
    what: "a finished step and no answer",
    outcome: "unknown",
    async make(rig, claim) {
      assert.equal(await rig.store.startStep({ ...claim, ...charge }), "ok");
      return rig.store.finishStep({ ...claim, ...charge, result });
    },
  },
  "failed-step": {
    what: "a started step that was released",
    outcome: "granted",
    async make(rig, claim) {
      assert.equal(await rig.store.startStep({ ...claim, ...charge }), "ok");
      return rig.store.release(claim);
    },
  },
  interim: {
    what: "an interim answer",
    outcome: "unknown",
    make: (rig, claim) => rig.store.suspend({ ...claim, interim: sampleResponse({ status: 202 }) }),
  },
  hold: {
    what: "a hold",
    outcome: "unknown",
    make: (rig, claim) => rig.store.suspend({ ...claim, holdReason: "ask the bank" }),
  },
};

/** Ways in which a doubt ends. */
const ends: Readonly<Record<string, (rig: Rig, claim: Claim) => Promise<unknown>>> = {
  completed: (rig, claim) => rig.store.complete({ ...claim, response: sampleResponse() }),
  released: (rig, claim) => rig.store.release(claim),
  settled: (rig, claim) => rig.store.settle(settlement(claim, { kind: "release" })),
};

const completeMany = (rig: Rig, count: number, kind: string, retentionMs: number): Promise<unknown> =>
  atOnce(count, (index) => rig.completed(sampleIdentity(`${kind}-${index}`), `${kind}-${index}`, { retentionMs }));

export const sweepCases: readonly StoreCase[] = [
  ...Object.entries(kept).map(([id, { what, outcome, make, asked }]): StoreCase => ({
    id: `S11-${id}`,
    title: `S11 a record with ${what} neither expires nor is swept`,
    async run(rig) {
      const identity = sampleIdentity("key");
      const owned = await rig.grant(identity, "a", { retentionMs: retentionMsShort, ...asked });
      assert.equal(await make(rig, owned.claim), "ok");
      await rig.sweepExpired();
      // Without trusted ticks nothing expires, and the next two claims would prove nothing; a sentinel has shown that
      // expiry works.
      await rig.tick();
      const stranger = await rig.claim(identity, "b", { fingerprint: sampleFingerprint("other"), takeover: "none" });
      assert.equal(stranger.outcome, "mismatch");
      const next = await rig.claim(identity, "c", { takeover: "none" });
      assert.equal(next.outcome, outcome);
      if (next.outcome === "granted") assert.equal(next.origin, "failed");
    },
  })),
  ...defineCases({
    "S11-doubt-met: a doubt met by a claim that wants it to outlive its retention does, and nothing else of the record changes":
      async (rig) => {
        const asked = { takeover: "none", retentionMs: retentionMsShort } as const;
        const wishes = { wished: { ...asked, doubtStays: true }, not: asked };
        for (const [name, wish] of Object.entries(wishes)) {
          await rig.lapsed(sampleIdentity(`lapsed-${name}`), "a", { retentionMs: retentionMsShort });
          await rig.suspended(sampleIdentity(`ended-${name}`), "a", {}, { retentionMs: retentionMsShort });
          for (const identity of [sampleIdentity(`lapsed-${name}`), sampleIdentity(`ended-${name}`)]) {
            const before = await rig.snapshot(identity);
            for (const owner of ["b", "c"]) assert.equal((await rig.claim(identity, owner, wish)).outcome, "unknown");
            assertSame(await rig.snapshot(identity), before);
          }
        }
        await rig.sweepExpired();
        for (const kind of ["lapsed", "ended"]) {
          await rig.mustBeGone(`${kind}-not`);
          await rig.tick();
          const next = await rig.claim(sampleIdentity(`${kind}-wished`), "d", { takeover: "none" });
          assert.equal(next.outcome, "unknown", kind);
        }
      },
    "S11-doubt-met-over: a doubt that was kept for whoever met it goes once its owner brings the answer or gives it back":
      async (rig) => {
        const byOwner = ["completed", "released"];
        for (const key of byOwner) {
          const { claim } = await rig.lapsed(sampleIdentity(key), "a", { retentionMs: retentionMsShort });
          const met = await rig.claim(claim.identity, "b", { takeover: "none", doubtStays: true });
          assert.equal(met.outcome, "unknown");
          assert.equal(await ends[key]?.(rig, claim), "ok");
        }
        await rig.sweepExpired();
        await rig.mustBeGone(...byOwner);
      },
    "S11-doubt-over: a doubt that outlived its retention goes once it is completed, released or settled": async (
      rig,
    ) => {
      const asked = { retentionMs: retentionMsShort, doubtStays: true };
      const doubts = await Promise.all(
        Object.entries(ends).map(async ([key, end]) => {
          const { claim } = await rig.suspended(sampleIdentity(key), `a-${key}`, {}, asked);
          return { claim, end };
        }),
      );
      await rig.sweepExpired();
      for (const { claim } of doubts) await rig.mustFind(claim.identity);
      for (const { claim, end } of doubts) assert.equal(await end(rig, claim), "ok");
      await rig.sweepUntilGone(...doubts.map(({ claim }) => claim.identity));
    },
    "S11-settled: a record that was kept for its step or interim answer may go once it is completed": async (
      rig,
      identity,
    ) => {
      const { claim } = await rig.grant(identity, "a", { retentionMs: retentionMsShort });
      await rig.startStep(claim, "charge", leaseMsShort);
      assert.equal(await rig.store.suspend({ ...claim, interim: sampleResponse(), holdReason: "ask" }), "ok");
      await rig.sweepExpired();
      assert.equal((await rig.mustFind(identity)).state, "unknown");
      await rig.complete(claim);
      await rig.sweepUntilGone(identity);
      assert.equal((await rig.store.steps(identity)).length, 0);
    },
    "S11-spent: a released record whose steps all have results goes long after its retention, and no other with steps":
      async (rig) => {
        const begin = async (key: string, isFinished: boolean): Promise<Claim> => {
          const { claim } = await rig.grant(sampleIdentity(key), "a", { retentionMs: retentionMsBrief });
          await rig.startStep(claim, "charge", leaseMsShort);
          if (isFinished) await rig.finishStep(claim, "charge", result, leaseMsShort);
          return claim;
        };
        for (const key of ["owner", "taken again", "unfinished"]) {
          assert.equal(await rig.store.release(await begin(key, key !== "unfinished")), "ok");
        }
        for (const key of ["person", "policy", "unfinished by policy"]) {
          const claim = await begin(key, key !== "unfinished by policy");
          if (key === "person") await rig.startStep(claim, "mail", leaseMsShort);
          assert.equal(await rig.store.suspend(claim), "ok");
          const by = key === "person" ? {} : ({ unlessHeld: true } as const);
          assert.equal(await rig.store.settle({ ...settlement(claim, { kind: "release" }), ...by }), "ok");
        }
        await rig.suspended(sampleIdentity("taken again"), "b");
        await rig.sweepExpired();
        for (const key of ["owner", "person", "policy"]) {
          await rig.mustBeGone(key);
          assert.equal((await rig.store.steps(sampleIdentity(key))).length, 0, key);
        }
        for (const key of ["taken again", "unfinished", "unfinished by policy"]) {
          assert.equal((await rig.store.steps((await rig.mustFind(sampleIdentity(key))).identity)).length, 1, key);
        }
      },
    "S12-bounded: a sweep removes at most its limit, says whether there is more, and leaves the rest alone": async (
      rig,
    ) => {
      await completeMany(rig, 25, "old", retentionMsShort);
      await completeMany(rig, 5, "fresh", 3_600_000);
      await rig.outliveRetention();
      let deleted = 0;
      let calls = 0;
      await rig.eventually("25 records are swept", async () => {
        await rig.tick();
        const swept = await rig.store.sweep({ limit: 10, budgetMs: 5_000 });
        if (swept.guarded) return false;
        calls += 1;
        assert.ok(swept.deleted <= 10, `${swept.deleted} of at most 10`);
        deleted += swept.deleted;
        assert.equal(swept.more || deleted === 25, true, `no more after ${deleted} of 25`);
        return deleted === 25;
      });
      assert.ok(calls >= 3);
      assert.equal(await rig.sweepAll(), 0);
      for (let index = 0; index < 5; index += 1) await rig.mustFind(sampleIdentity(`fresh-${index}`));
      for (let index = 0; index < 25; index += 1) await rig.mustBeGone(`old-${index}`);
    },
    "S12-states: completed records, and failed and lapsed ones without a step, are swept": async (rig) => {
      await rig.completed(sampleIdentity("completed"), "a", { retentionMs: retentionMsShort });
      await rig.failed(sampleIdentity("failed"), "a", { retentionMs: retentionMsShort });
      await rig.lapsed(sampleIdentity("lapsed"), "a", { retentionMs: retentionMsShort });
      await rig.sweepExpired();
      await rig.mustBeGone("completed", "failed", "lapsed");
    },
    "S12-beside: claims and completions go on beside sweeps": async (rig) => {
      await completeMany(rig, 40, "old", retentionMsShort);
      await rig.outliveRetention();
      const beside = atOnce(40, async (index) => {
        const { claim } = await rig.grant(sampleIdentity(`new-${index}`), `b-${index}`);
        assert.equal(await rig.second.complete({ ...claim, response: sampleResponse() }), "ok");
      });
      await Promise.all([rig.sweepAll(7), rig.sweepAll(7), beside]);
      const stats = await rig.store.stats();
      assert.equal(stats.records, 41, "40 new records and the sentinel");
    },
    "S12-alone: of sweepers at once each record goes to one, and one that gives up says so and asks for no more":
      async (rig) => {
        await completeMany(rig, 30, "old", retentionMsShort);
        await rig.outliveRetention();
        let deleted = 0;
        await rig.eventually("30 records are swept", async () => {
          await rig.tick();
          const sweepers = [rig.store, rig.second, rig.store, rig.second];
          const results = await Promise.all(sweepers.map((store) => store.sweep({ limit: 5, budgetMs: 5_000 })));
          assert.ok(
            results.some((swept) => swept.busy !== true),
            "never do all give up",
          );
          for (const swept of results) {
            deleted += swept.deleted;
            if (swept.busy === true) assertSame(swept, { deleted: 0, more: false, guarded: false, busy: true });
          }
          assert.ok(deleted <= 30, `${deleted} of 30`);
          return deleted === 30;
        });
        assert.equal(await rig.sweepAll(), 0);
      },
  }),
  ...casesNeeding("clock", {
    "S11-spent-bound: the results of a released record's steps are there for eight times its retention": async (
      rig,
      identity,
    ) => {
      const quarterMs = 900_000;
      const { claim } = await rig.grant(identity, "a", { retentionMs: 4 * quarterMs });
      await rig.finishStep(claim, "charge", result, leaseMsShort);
      assert.equal(await rig.store.release(claim), "ok");
      const sweepAfter = async (quarters: number): Promise<unknown> => {
        for (let passed = 0; passed < quarters; passed += 1) {
          await rig.clock?.advanceMs(quarterMs);
          await rig.store.tick({ intervalMs: quarterMs });
        }
        return rig.store.sweep({ limit: 10, budgetMs: 5_000 });
      };
      assertSame(await sweepAfter(31), { deleted: 0, more: false, guarded: false });
      assert.equal((await rig.store.steps(identity)).length, 1);
      assertSame(await sweepAfter(1), { deleted: 1, more: false, guarded: false });
      assert.equal(await rig.store.find(identity), undefined);
    },
  }),
];
