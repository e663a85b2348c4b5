/** S19 landed: what became of a commit whose answer did not come. */
import assert from "node:assert/strict";
import type { Claim, Landed } from "../../core/contract/store.ts";
import type { TransactionHandle } from "../../core/contract/transaction.ts";
import { casesNeeding, defineCases, type StoreCase } from "./case.ts";
import { asGranted, type Rig } from "./rig.ts";
import { sampleIdentity, sampleOwner, sampleResponse } from "./samples.ts";

class Stopped extends Error {}

/** How a transaction may end, and what `landed` answers then. */
const ends = [
  ["rollback", "not-landed"],
  ["commit", "committed"],
] as const;

/** Runs `work` on a transaction, and ends it by `end`. */
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
  ...defineCases({
    "S19-tells: landed tells a record that is completed, one that is not, and one that is another's": async (rig) => {
      const running = await rig.grant(sampleIdentity("running"), "a");
      assert.equal(await rig.second.landed(running.claim), "not-landed");
      const done = await rig.completed(sampleIdentity("done"), "a");
      assert.equal(await rig.second.landed(done.claim), "committed");
      const vanished = await rig.lapsed(sampleIdentity("taken"), "a");
      const successor = await rig.grant(sampleIdentity("taken"), "b");
      assert.equal(await rig.store.landed(vanished.claim), "lost");
      await rig.complete(successor.claim);
      assert.equal(await rig.store.landed(vanished.claim), "lost");
      assert.equal(await rig.store.landed({ ...running.claim, identity: sampleIdentity("absent") }), "lost");
    },
    "S19-within: of a record that was claimed on its own transaction, whatever was there before means that nothing landed":
      async (rig) => {
        const owner = sampleOwner("within");
        const ask = (claim: Omit<Claim, "owner">): Promise<Landed> =>
          rig.store.landed({ ...claim, owner, claimedWithin: true });
        assert.equal(await ask({ identity: sampleIdentity("absent"), fence: 1 }), "not-landed");
        const released = await rig.failed(sampleIdentity("failed"), "a");
        assert.equal(await ask(released.claim), "not-landed");
        assert.equal(await ask((await rig.lapsed(sampleIdentity("lapsed"), "a")).claim), "not-landed");
        const done = await rig.completed(sampleIdentity("done"), "a");
        assert.equal(await ask(done.claim), "lost");
        assert.equal(await rig.store.landed({ ...done.claim, claimedWithin: true }), "committed");
      },
    "S19-late: the question changes nothing, however late it is answered: no lease, no owner, no state": async (
      rig,
    ) => {
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
  }),
  ...casesNeeding("transactions", {
    "S19-busy: while the transaction of a completion is under way the answer is busy, and after its end what it left":
      async (rig) => {
        for (const [end, after] of ends) {
          const { claim } = await rig.grant(sampleIdentity(end), "a");
          await transact(rig, end, async (handle) => {
            assert.equal(await rig.store.complete({ ...claim, response: sampleResponse() }, handle), "ok");
            assert.equal(await rig.second.landed(claim), "busy");
          });
          assert.equal(await rig.second.landed(claim), after);
        }
      },
    "S19-uncommitted: the same where the record is claimed on that transaction, and nothing of it is to be seen":
      async (rig) => {
        if (rig.store.capabilities.transactionMode !== true) return;
        for (const [end, after] of ends) {
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
  }),
];
