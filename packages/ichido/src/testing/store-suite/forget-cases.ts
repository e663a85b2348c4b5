/** S23 the audit, S24 forgetting. */
import assert from "node:assert/strict";
import type { AuditLogEntry } from "../../core/contract/history.ts";
import type { Identity } from "../../core/contract/record.ts";
import type { Claim } from "../../core/contract/store.ts";
import { logged, sampleNote, sampleRun } from "./attempt-cases.ts";
import { defineCases, type StoreCase } from "./case.ts";
import { asCompleted, assertHas, assertSame, keysOf, leaseMsLong, plain, retentionMsShort, type Rig } from "./rig.ts";
import { sampleFingerprint, sampleIdentity, sampleResponse, settlement } from "./samples.ts";

const canary = "canary-ü-71";
const byWhom = { actor: "on-call", reason: "ticket 7" };

async function auditOf(rig: Rig, limit: number): Promise<AuditLogEntry[]> {
  const all: AuditLogEntry[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < 100; pages += 1) {
    const page = await rig.second.auditLog({ limit, ...(cursor !== undefined && { cursor }) });
    all.push(...page.entries);
    cursor = page.cursor;
    if (page.entries.length < limit) break;
  }
  return all;
}

/** A record that holds the canary wherever a caller's words can be. */
async function furnished(rig: Rig, identity: Identity): Promise<Claim> {
  const { claim } = await rig.lapsed(identity, "a", { labels: { customer: canary, order: "7" } });
  assert.equal(await rig.store.settle({ ...settlement(claim, { kind: "hold" }), reason: `asked ${canary}` }), "ok");
  const step = { ...claim, name: "bank.charge", leaseMs: leaseMsLong };
  await rig.store.startStep(step);
  await rig.store.finishStep({ ...step, result: new TextEncoder().encode(canary) });
  const response = sampleResponse({ status: 201, headers: [["location", `/${canary}`]], body: canary });
  assert.equal(await rig.store.complete({ ...claim, response, resources: [{ kind: "payment", id: canary }] }), "ok");
  await logged(rig.store, [sampleRun(sampleIdentity("twin", { principal: canary }))]);
  await logged(rig.store, [
    sampleRun(identity, "content", { askedBy: canary }),
    sampleNote(identity, { askedBy: canary }),
  ]);
  assert.equal((await rig.store.twins(identity)).length, 1);
  return claim;
}

async function everythingAbout({ second: store }: Rig, identity: Identity): Promise<string> {
  const found = [
    await store.find(identity),
    await store.steps(identity),
    await store.resources(identity),
    await store.attempts(identity),
    await store.twins(identity),
    await store.audit(identity),
    (await store.list({ limit: 100 })).records.filter(({ identity: { key } }) => key === identity.key),
    (await store.follow({ limit: 100 })).entries,
    (await store.suspects({ limit: 100 })).entries,
    (await store.auditLog({ limit: 100 })).entries,
  ];
  const hex = Buffer.from(canary).toString("hex");
  return JSON.stringify(plain(found)).replaceAll(hex, canary);
}

export const forgetCases: readonly StoreCase[] = defineCases({
  "S23-noted: what was done is walked once from old to new, about a record or about none": async (rig, identity) => {
    await rig.store.note({ actor: "ann", action: "sweep", reason: "by hand, ü" });
    const { claim } = await rig.lapsed(identity, "a");
    await rig.store.note({ identity, fence: 9, actor: "bob", action: "reveal", reason: "ticket" });
    assert.equal(await rig.store.settle(settlement(claim, { kind: "release" })), "ok");
    for (const limit of [1, 100]) {
      const [swept, revealed, released, ...rest] = await auditOf(rig, limit);
      assert.ok(swept !== undefined && revealed !== undefined && released !== undefined && rest.length === 0);
      assertHas(swept, { actor: "ann", action: "sweep", reason: "by hand, ü", record: undefined, fence: undefined });
      const record = { key: identity.key, scopeHash: identity.scopeHash };
      assertHas(revealed, { actor: "bob", action: "reveal", reason: "ticket", record, fence: 9 });
      assertHas(released, { action: "release", record, fence: claim.fence });
      assert.ok(swept.atMs <= released.atMs);
    }
    assert.deepEqual(
      (await rig.second.audit(identity)).map(({ action }) => action),
      ["reveal", "release"],
    );
  },
  "S23-outlives: the audit outlives the record that it is about": async (rig, identity) => {
    const { claim } = await rig.lapsed(identity, "a", { retentionMs: retentionMsShort });
    assert.equal(await rig.store.settle(settlement(claim, { kind: "adopt", response: sampleResponse() })), "ok");
    await rig.outliveRetention();
    await rig.sweepUntilGone(identity);
    assert.deepEqual(
      (await auditOf(rig, 100)).map(({ action }) => action),
      ["adopt"],
    );
  },
  "S24-erased: a forgotten record holds nothing of what was sent, made or said, and refuses other content": async (
    rig,
  ) => {
    const identity = sampleIdentity("key", { principal: canary });
    await furnished(rig, identity);
    assert.match(await everythingAbout(rig, identity), new RegExp(canary), "it was there");
    const { fence, expiresAtMs } = await rig.mustFind(identity);
    assert.equal(await rig.store.forget({ identity, fence, ...byWhom }), "ok");
    assert.doesNotMatch(await everythingAbout(rig, identity), new RegExp(canary));
    assert.deepEqual(await keysOf(rig.second, { label: { name: "customer", value: canary } }), []);
    assert.deepEqual(await keysOf(rig.second, { resource: { kind: "payment", id: canary } }), []);
    assert.deepEqual(await keysOf(rig.second, { principal: canary }), []);

    const { response } = asCompleted(await rig.claim(identity, "b"));
    assertHas(response, { kind: "tombstone", status: 201 });
    assert.equal(response.body.length, 0);
    const other = await rig.claim(identity, "c", { fingerprint: sampleFingerprint("other") });
    assert.equal(other.outcome, "mismatch");
    assertHas(await rig.mustFind(identity), { state: "completed", expiresAtMs, stepsStarted: 0 });
    const entries = await rig.second.audit(identity);
    assert.deepEqual(
      entries.map(({ action, reason }) => [action, reason]),
      [
        ["hold", ""],
        ["forget", byWhom.reason],
      ],
    );
    assert.equal(await rig.store.forget({ identity, fence, ...byWhom }), "forgotten");
    assert.equal((await rig.second.audit(identity)).length, 2, "nothing was done the second time");
  },
  "S24-said: reasons that name what is to be forgotten are emptied, of whatever record or none; a longer id is another's":
    async (rig, identity) => {
      const { claim } = await rig.lapsed(identity, "a");
      assert.equal(
        await rig.store.settle({ ...settlement(claim, { kind: "release" }), reason: `${canary}: gone` }),
        "ok",
      );
      const about = { identity, fence: claim.fence };
      const reasons = [`asked by ${canary}`, `"${canary}"`, `客${canary}の`, `${canary}1 called`, "ticket 7"];
      for (const reason of reasons) await rig.store.note({ actor: "ann", action: "reveal", reason });
      await rig.store.note({ ...about, actor: canary, action: "look", reason: `with ${canary}` });
      await rig.store.note({ ...about, actor: "bob", action: "look", reason: "ticket 8" });
      assert.equal(await rig.store.emptyReasons(["", "nobody-is-called-so"]), 0);
      assert.equal(await rig.store.emptyReasons(["nobody-is-called-so", canary]), 5);
      const left = ["", "", "", "", `${canary}1 called`, "ticket 7", "", "ticket 8"];
      assert.deepEqual(
        (await auditOf(rig, 100)).map(({ reason }) => reason),
        left,
      );
      assert.deepEqual(
        (await rig.second.audit(identity)).map(({ actor, action, reason }) => [actor, action, reason]),
        [
          ["on-call", "release", ""],
          [canary, "look", ""],
          ["bob", "look", "ticket 8"],
        ],
      );
      assert.equal(await rig.store.emptyReasons([canary]), 0);
    },
  "S24-late: what is logged after a record was forgotten is not kept, alone or as a pair": async (rig) => {
    const identity = sampleIdentity("key", { principal: canary });
    const { claim } = await rig.completed(identity, "a");
    assert.equal(await rig.store.forget({ identity, fence: claim.fence, ...byWhom }), "ok");
    const twin = sampleIdentity("twin", { principal: canary });
    await rig.completed(twin, "b");
    await logged(rig.store, [sampleRun(identity, "content", { askedBy: canary })]);
    assert.deepEqual(await logged(rig.store, [sampleRun(twin), sampleNote(identity, { askedBy: canary })]), []);
    assert.deepEqual(await rig.second.attempts(identity), []);
    assert.deepEqual(await rig.second.twins(twin), []);
    assert.doesNotMatch(await everythingAbout(rig, identity), new RegExp(canary));
  },
  "S24-failed: a released record is done from then on: the results of its steps are gone, so it never runs again":
    async (rig, identity) => {
      const { claim } = await rig.grant(identity, "a");
      await rig.finishStep(claim, "bank.charge", new TextEncoder().encode(canary));
      assert.equal(await rig.store.release(claim), "ok");
      assert.equal(await rig.store.forget({ ...claim, ...byWhom }), "ok");
      assertSame(await rig.second.steps(identity), []);
      assert.equal(asCompleted(await rig.claim(identity, "b")).response.kind, "tombstone");
      assert.equal(await rig.store.complete({ ...claim, response: sampleResponse() }), "stale");
    },
  "S24-left: what is under way, in doubt, changed since or not there is left as it was, and that is told": async (
    rig,
  ) => {
    const live = await rig.grant(sampleIdentity("live"), "a");
    const lapsed = await rig.lapsed(sampleIdentity("lapsed"), "b");
    const held = await rig.suspended(sampleIdentity("held"), "c", { holdReason: "ask" });
    const { claim: done } = await rig.completed(sampleIdentity("done"), "d");
    const cases = [
      [live.claim, "live"],
      [lapsed.claim, "unknown"],
      [held.claim, "unknown"],
      [{ ...done, fence: done.fence - 1 }, "stale"],
    ] as const;
    for (const [claim, result] of cases) {
      const before = await rig.snapshot(claim.identity);
      assert.equal(await rig.store.forget({ identity: claim.identity, fence: claim.fence, ...byWhom }), result);
      assert.deepEqual(await rig.snapshot(claim.identity), before);
      assert.deepEqual(await rig.second.audit(claim.identity), []);
    }
    assert.equal(await rig.store.forget({ identity: sampleIdentity("none"), fence: 1, ...byWhom }), "absent");
    await rig.complete(live.claim);
  },
});
