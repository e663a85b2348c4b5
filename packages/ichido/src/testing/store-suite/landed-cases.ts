/** S19 landed: what became of a commit whose answer did not come. */
import assert from "node:assert/strict";
import type { Claim, Landed } from "../../core/contract/store.ts";
import type { TransactionHandle } from "../../core/contract/transaction.ts";
import type { StoreCase } from "./case.ts";
import { asGranted } from "./rig.ts";
import type { Rig } from "./rig.ts";
import { sampleIdentity, sampleOwner, sampleResponse } from "./samples.ts";

class Stopped extends Error {}

/** A transaction that ends as it is told, and what is done on it before. */
async function transact(
  rig: Rig,
  end: "commit" | "rollback",
  work: (handle: TransactionHandle) => Promise<void>,
): Promise<void> {
  assert.ok(rig.runner !== undefined);
  const ending = rig.runner.run(async (_tx, handle) => {
    await work(handle);
    if (end === "rollback") throw new Stopped();
  });
  if (end === "rollback") await assert.rejects(ending, Stopped);
  else await ending;
}

export const landedCases: readonly StoreCase[] = [
  {
    id: "S19-tells",
    title: "S19 landed tells a record that is completed, one that is not, and one that is another's",
    async run(rig) {
      const running = await rig.grant(sampleIdentity("running"), "a");
      assert.equal(await rig.second.landed(running.claim), "not-landed");
      const done = await rig.completed(sampleIdentity("done"), "a");
      assert.equal(await rig.second.landed(done.claim), "committed");
      const vanished = await rig.lapsed(sampleIdentity("taken"), "a");
      const successor = await rig.grant(sampleIdentity("taken"), "b");
      assert.equal(await rig.store.landed(vanished.claim), "lost");
      assert.equal(await rig.store.complete({ ...successor.claim, response: sampleResponse() }), "ok");
      assert.equal(await rig.store.landed(vanished.claim), "lost");
      assert.equal(await rig.store.landed({ ...running.claim, identity: sampleIdentity("absent") }), "lost");
    },
  },
  {
    id: "S19-within",
    title:
      "S19 of a record that was claimed on its own transaction, whatever was there before means that nothing landed",
    async run(rig) {
      const owner = sampleOwner("within");
      const ask = (claim: Omit<Claim, "owner">): Promise<Landed> =>
        rig.store.landed({ ...claim, owner, claimedWithin: true });
      assert.equal(await ask({ identity: sampleIdentity("absent"), fence: 1 }), "not-landed");
      const released = await rig.grant(sampleIdentity("failed"), "a");
      assert.equal(await rig.store.release(released.claim), "ok");
      assert.equal(await ask(released.claim), "not-landed");
      assert.equal(await ask((await rig.lapsed(sampleIdentity("lapsed"), "a")).claim), "not-landed");
      const done = await rig.completed(sampleIdentity("done"), "a");
      assert.equal(await ask(done.claim), "lost");
      assert.equal(await rig.store.landed({ ...done.claim, claimedWithin: true }), "committed");
    },
  },
  {
    id: "S19-late",
    title: "S19 the question changes nothing, however late it is answered: no lease, no owner, no state",
    async run(rig) {
      const { claim } = await rig.lapsed(sampleIdentity("key"), "a");
      const before = await rig.snapshot(claim.identity);
      assert.equal(await rig.store.landed(claim), "not-landed");
      assert.deepEqual(await rig.snapshot(claim.identity), before);
      assert.ok(((await rig.mustFind(claim.identity)).leaseLeftMs ?? 0) <= 0, "the lease is as over as it was");
      const taken = asGranted(await rig.second.claim(rig.request(claim.identity, "b")));
      const held = await rig.snapshot(claim.identity);
      assert.equal(await rig.store.landed(claim), "lost");
      assert.equal(await rig.store.landed({ ...claim, claimedWithin: true }), "not-landed");
      assert.deepEqual(await rig.snapshot(claim.identity), held);
      const successor = { ...claim, owner: sampleOwner("b"), fence: taken.fence };
      assert.equal(await rig.second.complete({ ...successor, response: sampleResponse() }), "ok");
    },
  },
  {
    id: "S19-busy",
    title: "S19 while the transaction of a completion is under way the answer is busy, and after its end what it left",
    needs: "transactions",
    async run(rig) {
      for (const [end, after] of [
        ["rollback", "not-landed"],
        ["commit", "committed"],
      ] as const) {
        const { claim } = await rig.grant(sampleIdentity(end), "a");
        await transact(rig, end, async (handle) => {
          assert.equal(await rig.store.complete({ ...claim, response: sampleResponse() }, handle), "ok");
          assert.equal(await rig.second.landed(claim), "busy");
        });
        assert.equal(await rig.second.landed(claim), after);
      }
    },
  },
  {
    id: "S19-uncommitted",
    title: "S19 the same where the record is claimed on that transaction, and nothing of it is to be seen",
    needs: "transactions",
    async run(rig) {
      if (rig.store.capabilities.transactionMode !== true) return;
      for (const [end, after] of [
        ["rollback", "not-landed"],
        ["commit", "committed"],
      ] as const) {
        const identity = sampleIdentity(end);
        const request = rig.request(identity, "a", { waitMs: 1_000 });
        const asked = { identity, owner: request.owner, fence: 0, claimedWithin: true };
        await transact(rig, end, async (handle) => {
          const granted = asGranted(await rig.store.claim(request, handle));
          Object.assign(asked, { fence: granted.fence });
          assert.equal(await rig.second.landed(asked), "busy");
          const completion = { identity, owner: request.owner, fence: granted.fence, response: sampleResponse() };
          assert.equal(await rig.store.complete(completion, handle), "ok");
        });
        assert.equal(await rig.second.landed(asked), after);
      }
    },
  },
];
