/** S20 resources, S25 what is found by an index. */
import assert from "node:assert/strict";
import type { Resource } from "../../core/contract/history.ts";
import type { Identity } from "../../core/contract/record.ts";
import { casesNeeding, defineCases, type StoreCase } from "./case.ts";
import { asGranted, assertSame, keysOf, leaseMsLong, retentionMsShort, type Rig } from "./rig.ts";
import { sampleIdentity, sampleResponse } from "./samples.ts";

const payment: Resource = { kind: "payment", id: "pay_7" };
const charge: Resource = { kind: "charge", id: "ch/9 ü" };
const order: Resource = { kind: "order", id: "pay_7" };

async function told(rig: Rig, identity: Identity, expected: readonly Resource[], what?: string): Promise<void> {
  assertSame(await rig.second.resources(identity), expected, what);
}

export const resourceCases: readonly StoreCase[] = [
  ...defineCases({
    "S20-completion: a completion brings what the operation made, in the order told and each once": async (
      rig,
      identity,
    ) => {
      const { claim } = await rig.grant(identity, "a");
      await told(rig, identity, []);
      const completion = { ...claim, response: sampleResponse(), resources: [payment, charge, payment] };
      assert.equal(await rig.store.complete(completion), "ok");
      await told(rig, identity, [payment, charge]);
      assert.equal(await rig.store.complete(completion), "ok", "sent again");
      await told(rig, identity, [payment, charge]);
    },
    "S20-steps: the start and the result of a step, and a suspension, bring theirs; a later one adds to them": async (
      rig,
      identity,
    ) => {
      const { claim } = await rig.grant(identity, "a");
      const step = { ...claim, name: "bank.charge", leaseMs: leaseMsLong };
      assert.equal(await rig.store.startStep({ ...step, resources: [payment] }), "ok");
      await told(rig, identity, [payment], "known before the call is made");
      assert.equal(await rig.store.finishStep({ ...step, result: new Uint8Array([1]), resources: [charge] }), "ok");
      await told(rig, identity, [payment, charge]);
      assert.equal(await rig.store.suspend({ ...claim, resources: [payment, order] }), "ok");
      await told(rig, identity, [payment, charge, order]);
      const next = asGranted(await rig.claim(identity, "b"));
      await told(rig, identity, [payment, charge, order], "a new owner finds them");
      assert.ok(next.fence > claim.fence);
    },
    "S20-again: what is told again takes no room from what is new": async (rig, identity) => {
      const { claim } = await rig.grant(identity, "a");
      const many = Array.from({ length: 10 }, (_, at): Resource => ({ kind: "item", id: `i_${at}` }));
      const step = { ...claim, name: "s", leaseMs: leaseMsLong, resources: many };
      assert.equal(await rig.store.startStep(step), "ok");
      const completion = { ...claim, response: sampleResponse(), resources: [...many, payment] };
      assert.equal(await rig.store.complete(completion), "ok");
      await told(rig, identity, [...many, payment]);
    },
    "S20-stale: an owner that lost the record adds nothing to it": async (rig, identity) => {
      const { claim } = await rig.lapsed(identity, "a");
      const { claim: mine } = await rig.grant(identity, "b");
      const response = sampleResponse();
      assert.equal(await rig.store.complete({ ...claim, response, resources: [payment] }), "stale");
      const step = { ...claim, name: "s", leaseMs: leaseMsLong, resources: [payment] };
      assert.equal(await rig.store.startStep(step), "stale");
      assert.equal(await rig.store.finishStep({ ...step, result: new Uint8Array() }), "stale");
      assert.equal(await rig.store.suspend({ ...claim, resources: [payment] }), "stale");
      await told(rig, identity, []);
      assert.equal(await rig.store.complete({ ...mine, response, resources: [charge] }), "ok");
      await told(rig, identity, [charge]);
    },
    "S20-both-ways: a record is found by what it made, by kind and id exactly, whatever its state": async (rig) => {
      for (const [key, resources] of [
        ["a", [payment]],
        ["b", [order, payment]],
        ["c", [charge]],
      ] as const) {
        const { claim } = await rig.grant(sampleIdentity(key), key, { labels: { customer: key } });
        const response = sampleResponse();
        const telling = { ...claim, resources: [...resources] };
        assert.equal(
          await (key === "c" ? rig.store.suspend(telling) : rig.store.complete({ ...telling, response })),
          "ok",
        );
      }
      const find = (resource: Resource, more = {}): Promise<readonly string[]> =>
        keysOf(rig.second, { resource, ...more });
      assert.deepEqual(await find(payment), ["a", "b"]);
      assert.deepEqual(await find(order), ["b"]);
      assert.deepEqual(await find(charge), ["c"]);
      assert.deepEqual(await find(charge, { state: "unknown" }), ["c"]);
      assert.deepEqual(await find({ kind: "PAYMENT", id: "pay_7" }), []);
      assert.deepEqual(await find({ kind: "payment", id: "pay_" }), []);
      assert.deepEqual(await find(payment, { label: { name: "customer", value: "b" } }), ["b"]);
      const page = await rig.second.list({ resource: payment, limit: 1 });
      assert.deepEqual(
        page.records.map(({ identity }) => identity.key),
        ["a"],
      );
      const rest = await rig.second.list({ resource: payment, limit: 1, cursor: page.cursor ?? assert.fail() });
      assert.deepEqual(
        rest.records.map(({ identity }) => identity.key),
        ["b"],
      );
    },
    "S20-new-life: an identity that runs as new after its retention knows nothing of what the former one made": async (
      rig,
      identity,
    ) => {
      const { claim } = await rig.grant(identity, "a", { retentionMs: retentionMsShort });
      assert.equal(await rig.store.complete({ ...claim, response: sampleResponse(), resources: [payment] }), "ok");
      const next = asGranted(await rig.claimWhile("completed", rig.request(identity, "b")));
      assert.equal(next.origin, "new");
      await told(rig, identity, []);
      assert.deepEqual(await keysOf(rig.second, { resource: payment }), []);
    },
  }),
  ...casesNeeding("transactions", {
    "S20-transaction: what is told with a completion on the caller's transaction is committed, or undone, with it":
      async (rig) => {
        const { runner = assert.fail() } = rig;
        for (const commits of [true, false]) {
          const identity = sampleIdentity(`key-${commits}`);
          const { claim } = await rig.grant(identity, "a");
          const running = runner.run(async (_tx, handle) => {
            const completion = { ...claim, response: sampleResponse(), resources: [payment] };
            assert.equal(await rig.store.complete(completion, handle), "ok");
            if (!commits) throw new Error("undo");
          });
          await (commits ? running : assert.rejects(running));
          await told(rig, identity, commits ? [payment] : []);
        }
      },
  }),
];
