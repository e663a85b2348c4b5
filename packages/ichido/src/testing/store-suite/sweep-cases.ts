/** S11 never under way, S12 bounded sweep. */
import assert from "node:assert/strict";
import type { Claim, ClaimRequest } from "../../core/contract/store.ts";
import type { StoreCase } from "./case.ts";
import { assertSame, leaseMsLong, leaseMsShort, retentionMsShort, tickMs, type Rig } from "./rig.ts";
import { sampleFingerprint, sampleIdentity, sampleResponse } from "./samples.ts";

const result = new Uint8Array([7]);
/** So brief that eight times as long is over when a retention of the usual length is. */
const retentionMsBrief = retentionMsShort / 10;

/** What makes a record one that must be kept past its retention; `outcome` is what another owner's claim meets. */
const kept: readonly {
  readonly id: string;
  readonly what: string;
  readonly outcome: "processing" | "unknown" | "granted";
  readonly make: (rig: Rig, claim: Claim) => Promise<void>;
  readonly asked?: Partial<ClaimRequest>;
}[] = [
  {
    id: "doubt-lapsed",
    what: "a doubt that must outlive its retention, whose owner vanished",
    outcome: "unknown",
    asked: { doubtStays: true, leaseMs: leaseMsShort },
    make: async () => undefined,
  },
  {
    id: "doubt-suspended",
    what: "a doubt that must outlive its retention, whose owner ended its lease",
    outcome: "unknown",
    asked: { doubtStays: true },
    async make(rig, claim) {
      assert.equal(await rig.store.suspend(claim), "ok");
    },
  },
  {
    id: "doubt-taken",
    what: "a doubt that the next owner wants to outlive its retention",
    outcome: "unknown",
    async make(rig, claim) {
      assert.equal(await rig.store.release(claim), "ok");
      const next = await rig.grant(claim.identity, "next", { doubtStays: true });
      assert.equal(await rig.store.suspend(next.claim), "ok");
      // Whoever asks without that wish does not take it away.
      const last = await rig.grant(claim.identity, "last");
      assert.equal(await rig.store.suspend(last.claim), "ok");
    },
  },
  {
    id: "live",
    what: "a living owner",
    outcome: "processing",
    async make(rig, claim) {
      assert.deepEqual([...(await rig.store.renew([{ ...claim, leaseMs: leaseMsLong }]))], ["ok"]);
    },
  },
  {
    id: "started",
    what: "a started step",
    outcome: "unknown",
    async make(rig, claim) {
      assert.equal(await rig.store.startStep({ ...claim, name: "charge", leaseMs: leaseMsShort }), "ok");
    },
  },
  {
    id: "finished",
    what: "a finished step and no answer",
    outcome: "unknown",
    async make(rig, claim) {
      assert.equal(await rig.store.startStep({ ...claim, name: "charge", leaseMs: leaseMsShort }), "ok");
      assert.equal(await rig.store.finishStep({ ...claim, name: "charge", leaseMs: leaseMsShort, result }), "ok");
    },
  },
  {
    id: "failed-step",
    what: "a started step that was released",
    outcome: "granted",
    async make(rig, claim) {
      assert.equal(await rig.store.startStep({ ...claim, name: "charge", leaseMs: leaseMsShort }), "ok");
      assert.equal(await rig.store.release(claim), "ok");
    },
  },
  {
    id: "interim",
    what: "an interim answer",
    outcome: "unknown",
    async make(rig, claim) {
      assert.equal(await rig.store.suspend({ ...claim, interim: sampleResponse({ status: 202 }) }), "ok");
    },
  },
  {
    id: "hold",
    what: "a hold",
    outcome: "unknown",
    async make(rig, claim) {
      assert.equal(await rig.store.suspend({ ...claim, holdReason: "ask the bank" }), "ok");
    },
  },
];

export const sweepCases: readonly StoreCase[] = [
  ...kept.map(({ id, what, outcome, make, asked }): StoreCase => ({
    id: `S11-${id}`,
    title: `S11 a record with ${what} neither expires nor is swept`,
    async run(rig) {
      const identity = sampleIdentity("key");
      const owned = await rig.grant(identity, "a", { retentionMs: retentionMsShort, ...asked });
      await make(rig, owned.claim);
      await rig.outliveRetention();
      await rig.sweepAll();
      // Untrusted ticks would make the next two claims pass by themselves; a sentinel has shown that expiry works.
      await rig.store.tick({ intervalMs: tickMs });
      const stranger = await rig.claim(identity, "b", { fingerprint: sampleFingerprint("other"), takeover: "none" });
      assert.equal(stranger.outcome, "mismatch");
      const next = await rig.claim(identity, "c", { takeover: "none" });
      assert.equal(next.outcome, outcome);
      if (next.outcome === "granted") assert.equal(next.origin, "failed");
    },
  })),
  {
    id: "S11-doubt-met",
    title:
      "S11 a doubt met by a claim that wants it to outlive its retention does, and nothing else of the record changes",
    async run(rig) {
      const asked = { takeover: "none", retentionMs: retentionMsShort } as const;
      const wishes = { wished: { ...asked, doubtStays: true }, not: asked };
      for (const [name, wish] of Object.entries(wishes)) {
        await rig.lapsed(sampleIdentity(`lapsed-${name}`), "a", { retentionMs: retentionMsShort });
        const ended = await rig.grant(sampleIdentity(`ended-${name}`), "a", { retentionMs: retentionMsShort });
        assert.equal(await rig.store.suspend(ended.claim), "ok");
        for (const identity of [sampleIdentity(`lapsed-${name}`), sampleIdentity(`ended-${name}`)]) {
          const before = await rig.snapshot(identity);
          for (const owner of ["b", "c"]) assert.equal((await rig.claim(identity, owner, wish)).outcome, "unknown");
          assertSame(await rig.snapshot(identity), before);
        }
      }
      await rig.outliveRetention();
      await rig.sweepAll();
      for (const kind of ["lapsed", "ended"]) {
        assert.equal(await rig.store.find(sampleIdentity(`${kind}-not`)), undefined, kind);
        await rig.store.tick({ intervalMs: tickMs });
        const next = await rig.claim(sampleIdentity(`${kind}-wished`), "d", { takeover: "none" });
        assert.equal(next.outcome, "unknown", kind);
      }
    },
  },
  {
    id: "S11-doubt-met-over",
    title: "S11 a doubt that was kept for whoever met it goes once its owner brings the answer or gives it back",
    async run(rig) {
      const ends: readonly ((claim: Claim) => Promise<unknown>)[] = [
        (claim) => rig.store.complete({ ...claim, response: sampleResponse() }),
        (claim) => rig.store.release(claim),
      ];
      for (const [index, end] of ends.entries()) {
        const identity = sampleIdentity(`key-${index}`);
        const { claim } = await rig.lapsed(identity, "a", { retentionMs: retentionMsShort });
        assert.equal((await rig.claim(identity, "b", { takeover: "none", doubtStays: true })).outcome, "unknown");
        assert.equal(await end(claim), "ok");
      }
      await rig.outliveRetention();
      await rig.sweepAll();
      for (const index of ends.keys()) assert.equal(await rig.store.find(sampleIdentity(`key-${index}`)), undefined);
    },
  },
  {
    id: "S11-doubt-over",
    title: "S11 a doubt that outlived its retention goes once it is completed, released or settled",
    async run(rig) {
      const ends: readonly ((claim: Claim) => Promise<unknown>)[] = [
        (claim) => rig.store.complete({ ...claim, response: sampleResponse() }),
        (claim) => rig.store.release(claim),
        ({ identity, fence }) =>
          rig.store.settle({ identity, fence, decision: { kind: "release" }, actor: "on-call", reason: "no" }),
      ];
      const doubts = await Promise.all(
        ends.map(async (_, index) => {
          const asked = { retentionMs: retentionMsShort, doubtStays: true };
          const { claim } = await rig.grant(sampleIdentity(`key-${index}`), `a-${index}`, asked);
          assert.equal(await rig.store.suspend(claim), "ok");
          return claim;
        }),
      );
      await rig.outliveRetention();
      await rig.sweepAll();
      const left = async (): Promise<readonly unknown[]> =>
        (await Promise.all(doubts.map(({ identity }) => rig.store.find(identity)))).filter(Boolean);
      assert.equal((await left()).length, ends.length);
      for (const [index, end] of ends.entries()) assert.equal(await end(doubts[index] ?? assert.fail()), "ok");
      await rig.eventually("they are swept", async () => {
        await rig.sweepAll();
        return (await left()).length === 0;
      });
    },
  },
  {
    id: "S11-settled",
    title: "S11 a record that was kept for its step or interim answer may go once it is completed",
    async run(rig) {
      const identity = sampleIdentity("key");
      const { claim } = await rig.grant(identity, "a", { retentionMs: retentionMsShort });
      assert.equal(await rig.store.startStep({ ...claim, name: "charge", leaseMs: leaseMsShort }), "ok");
      assert.equal(await rig.store.suspend({ ...claim, interim: sampleResponse(), holdReason: "ask" }), "ok");
      await rig.outliveRetention();
      await rig.sweepAll();
      assert.equal((await rig.mustFind(identity)).state, "processing");
      assert.equal(await rig.store.complete({ ...claim, response: sampleResponse() }), "ok");
      await rig.eventually("the completed record is swept", async () => {
        await rig.sweepAll();
        return (await rig.store.find(identity)) === undefined;
      });
      assert.equal((await rig.store.steps(identity)).length, 0);
    },
  },
  {
    id: "S11-spent",
    title: "S11 a released record whose steps all have results goes long after its retention, and no other with steps",
    async run(rig) {
      const asked = { retentionMs: retentionMsBrief };
      const step = { name: "charge", leaseMs: leaseMsShort };
      const begin = async (key: string, isFinished: boolean): Promise<Claim> => {
        const { claim } = await rig.grant(sampleIdentity(key), "a", asked);
        assert.equal(await rig.store.startStep({ ...claim, ...step }), "ok");
        if (isFinished) assert.equal(await rig.store.finishStep({ ...claim, ...step, result }), "ok");
        return claim;
      };
      const by = { decision: { kind: "release" }, actor: "on-call", reason: "no" } as const;
      for (const key of ["owner", "taken again", "unfinished"]) {
        assert.equal(await rig.store.release(await begin(key, key !== "unfinished")), "ok");
      }
      for (const key of ["person", "policy", "unfinished by policy"]) {
        const claim = await begin(key, key !== "unfinished by policy");
        const other = { ...claim, ...step, name: "mail" };
        if (key === "person") assert.equal(await rig.store.startStep(other), "ok");
        assert.equal(await rig.store.suspend(claim), "ok");
        const { identity, fence } = claim;
        assert.equal(
          await rig.store.settle({ identity, fence, ...by, ...(key !== "person" && { unlessHeld: true }) }),
          "ok",
        );
      }
      const again = await rig.grant(sampleIdentity("taken again"), "b");
      assert.equal(await rig.store.suspend(again.claim), "ok");
      await rig.outliveRetention();
      await rig.sweepAll();
      for (const key of ["owner", "person", "policy"]) {
        assert.equal(await rig.store.find(sampleIdentity(key)), undefined, key);
        assert.equal((await rig.store.steps(sampleIdentity(key))).length, 0, key);
      }
      for (const key of ["taken again", "unfinished", "unfinished by policy"]) {
        assert.equal((await rig.store.steps((await rig.mustFind(sampleIdentity(key))).identity)).length, 1, key);
      }
    },
  },
  {
    id: "S11-spent-bound",
    title: "S11 the results of a released record's steps are there for eight times its retention",
    needs: "clock",
    async run(rig) {
      const identity = sampleIdentity("key");
      const quarterMs = 900_000;
      const { claim } = await rig.grant(identity, "a", { retentionMs: 4 * quarterMs });
      assert.equal(await rig.store.finishStep({ ...claim, name: "charge", leaseMs: leaseMsShort, result }), "ok");
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
  },
  {
    id: "S12-bounded",
    title: "S12 a sweep removes at most its limit, says whether there is more, and leaves the rest alone",
    async run(rig) {
      const make = (count: number, kind: string, retentionMs: number): Promise<unknown> =>
        Promise.all(
          Array.from({ length: count }, (_, index) =>
            rig.completed(sampleIdentity(`${kind}-${index}`), `${kind}-${index}`, { retentionMs }),
          ),
        );
      await make(25, "old", retentionMsShort);
      await make(5, "fresh", 3_600_000);
      await rig.outliveRetention();
      let deleted = 0;
      let calls = 0;
      await rig.eventually("25 records are swept", async () => {
        await rig.store.tick({ intervalMs: tickMs });
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
      for (let index = 0; index < 25; index += 1)
        assert.equal(await rig.store.find(sampleIdentity(`old-${index}`)), undefined);
    },
  },
  {
    id: "S12-states",
    title: "S12 completed records, and failed and lapsed ones without a step, are swept",
    async run(rig) {
      await rig.completed(sampleIdentity("completed"), "a", { retentionMs: retentionMsShort });
      const failed = await rig.grant(sampleIdentity("failed"), "a", { retentionMs: retentionMsShort });
      assert.equal(await rig.store.release(failed.claim), "ok");
      await rig.lapsed(sampleIdentity("lapsed"), "a", { retentionMs: retentionMsShort });
      await rig.outliveRetention();
      await rig.sweepAll();
      for (const key of ["completed", "failed", "lapsed"]) {
        assert.equal(await rig.store.find(sampleIdentity(key)), undefined, key);
      }
    },
  },
  {
    id: "S12-beside",
    title: "S12 claims and completions go on beside sweeps",
    async run(rig) {
      await Promise.all(
        Array.from({ length: 40 }, (_, index) =>
          rig.completed(sampleIdentity(`old-${index}`), "a", { retentionMs: retentionMsShort }),
        ),
      );
      await rig.outliveRetention();
      const beside = Promise.all(
        Array.from({ length: 40 }, async (_, index) => {
          const { claim } = await rig.grant(sampleIdentity(`new-${index}`), `b-${index}`);
          assert.equal(await rig.second.complete({ ...claim, response: sampleResponse() }), "ok");
        }),
      );
      await Promise.all([rig.sweepAll(7), rig.sweepAll(7), beside]);
      const stats = await rig.store.stats();
      assert.equal(stats.records, 41, "40 new records and the sentinel");
    },
  },
  {
    id: "S12-alone",
    title: "S12 of sweepers at once each record goes to one, and one that gives up says so and asks for no more",
    async run(rig) {
      await Promise.all(
        Array.from({ length: 30 }, (_, index) =>
          rig.completed(sampleIdentity(`old-${index}`), "a", { retentionMs: retentionMsShort }),
        ),
      );
      await rig.outliveRetention();
      let deleted = 0;
      await rig.eventually("30 records are swept", async () => {
        await rig.store.tick({ intervalMs: tickMs });
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
  },
];
