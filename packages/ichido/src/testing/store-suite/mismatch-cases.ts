/** S3 mismatch first. */
import assert from "node:assert/strict";
import type { Fingerprint, Identity } from "../../core/contract/record.ts";
import { defineCases, type StoreCase } from "./case.ts";
import { asGranted, assertHas, assertSame, takeoverModes, type Rig } from "./rig.ts";
import { sampleFingerprint, sampleIdentity, sampleResponse } from "./samples.ts";

/** Each state in which a claim can find a record: its name, and how the record gets there. */
const states: Readonly<Record<string, readonly [string, (rig: Rig, identity: Identity) => Promise<unknown>]>> = {
  processing: ["in flight", (rig, identity) => rig.grant(identity, "a")],
  lapsed: ["lapsed", (rig, identity) => rig.lapsed(identity, "a")],
  completed: ["completed", (rig, identity) => rig.completed(identity, "a")],
  failed: ["failed", (rig, identity) => rig.failed(identity, "a")],
  interim: [
    "suspended with an interim answer",
    (rig, identity) => rig.suspended(identity, "a", { interim: sampleResponse({ status: 202 }) }),
  ],
  hold: ["on hold", (rig, identity) => rig.suspended(identity, "a", { holdReason: "ask the bank" })],
};

const stored = sampleFingerprint("stored");
const other = sampleFingerprint("other");

/** Fingerprints that count as the stored request although not all hashes are equal. */
const equals: readonly { readonly id: string; readonly what: string; readonly fingerprint: Fingerprint }[] = [
  { id: "raw", what: "equal raw hashes", fingerprint: { ...other, raw: stored.raw } },
  { id: "canonical", what: "equal canonical hashes", fingerprint: { ...other, canonical: stored.canonical } },
  {
    id: "former",
    what: "a newer process whose hash by the former version is the stored one",
    fingerprint: { ...other, version: 2, former: stored.canonical },
  },
];

export const mismatchCases: readonly StoreCase[] = [
  ...Object.entries(states).map(([id, [what, reach]]): StoreCase => ({
    id: `S3-${id}`,
    title: `S3 another fingerprint is a mismatch when the record is ${what}, and alters nothing`,
    async run(rig) {
      const identity = sampleIdentity("key");
      await reach(rig, identity);
      const before = await rig.snapshot(identity);
      for (const takeover of takeoverModes) {
        const claim = await rig.claim(identity, "b", { fingerprint: other, takeover });
        assert.deepEqual(claim, { outcome: "mismatch" });
      }
      const own = await rig.claim(identity, "a", { fingerprint: other });
      assert.deepEqual(own, { outcome: "mismatch" }, "even for the owner that holds the record");
      assert.deepEqual(await rig.snapshot(identity), before);
    },
  })),
  ...equals.map(({ id, what, fingerprint }): StoreCase => ({
    id: `S3-${id}`,
    title: `S3 ${what} are the same request, and the first-sight hash stays`,
    async run(rig) {
      const identity = sampleIdentity("key");
      const { claim } = await rig.grant(identity, "a", { fingerprint: stored });
      assert.equal((await rig.claim(identity, "b", { fingerprint })).outcome, "processing");
      assert.equal(await rig.store.release(claim), "ok");
      const next = asGranted(await rig.claim(identity, "c", { fingerprint }));
      assertHas(next, { origin: "failed", canonical: stored.canonical });
      assertSame((await rig.mustFind(identity)).fingerprint.canonical, stored.canonical);
      assert.equal((await rig.claim(identity, "d", { fingerprint: other })).outcome, "mismatch");
    },
  })),
  ...defineCases({
    "S3-newer: a process of the former version recognises a record made by a newer one": async (rig, identity) => {
      const former = sampleFingerprint("by the former version");
      await rig.grant(identity, "a", { fingerprint: { ...stored, version: 2, former: former.canonical } });
      assert.equal((await rig.claim(identity, "b", { fingerprint: former })).outcome, "processing");
      assert.equal((await rig.claim(identity, "b", { fingerprint: other })).outcome, "mismatch");
    },
    "S3-crossed: a raw hash never matches a canonical one": async (rig, identity) => {
      await rig.grant(identity, "a", { fingerprint: stored });
      const crossed = { version: 1, raw: stored.canonical, canonical: stored.raw };
      assert.equal((await rig.claim(identity, "b", { fingerprint: crossed })).outcome, "mismatch");
    },
  }),
];
