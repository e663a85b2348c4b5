/** S3 mismatch first. */
import assert from "node:assert/strict";
import type { Fingerprint, Identity } from "../../core/contract/record.ts";
import type { StoreCase } from "./case.ts";
import { asGranted, assertSame, type Rig } from "./rig.ts";
import { sampleFingerprint, sampleIdentity, sampleResponse } from "./samples.ts";

/** Each state that a record can be met in, and how it gets there. */
const states: readonly {
  readonly id: string;
  readonly what: string;
  readonly reach: (rig: Rig, identity: Identity) => Promise<unknown>;
}[] = [
  { id: "processing", what: "in flight", reach: (rig, identity) => rig.grant(identity, "a") },
  { id: "lapsed", what: "lapsed", reach: (rig, identity) => rig.lapsed(identity, "a") },
  { id: "completed", what: "completed", reach: (rig, identity) => rig.completed(identity, "a") },
  {
    id: "failed",
    what: "failed",
    async reach(rig, identity) {
      const { claim } = await rig.grant(identity, "a");
      assert.equal(await rig.store.release(claim), "ok");
    },
  },
  {
    id: "interim",
    what: "suspended with an interim answer",
    async reach(rig, identity) {
      const { claim } = await rig.grant(identity, "a");
      assert.equal(await rig.store.suspend({ ...claim, interim: sampleResponse({ status: 202 }) }), "ok");
    },
  },
  {
    id: "hold",
    what: "on hold",
    async reach(rig, identity) {
      const { claim } = await rig.grant(identity, "a");
      assert.equal(await rig.store.suspend({ ...claim, holdReason: "ask the bank" }), "ok");
    },
  },
];

const stored = sampleFingerprint("stored");
const other = sampleFingerprint("other");

/** Fingerprints that mean the stored request although not all hashes are equal. */
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
  ...states.map(({ id, what, reach }): StoreCase => ({
    id: `S3-${id}`,
    title: `S3 another fingerprint is a mismatch when the record is ${what}, and alters nothing`,
    async run(rig) {
      const identity = sampleIdentity("key");
      await reach(rig, identity);
      const before = await rig.snapshot(identity);
      for (const takeover of ["none", "lapsed", "open"] as const) {
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
      assert.equal(next.origin, "failed");
      assertSame(next.canonical, stored.canonical);
      assertSame((await rig.mustFind(identity)).fingerprint.canonical, stored.canonical);
      assert.equal((await rig.claim(identity, "d", { fingerprint: other })).outcome, "mismatch");
    },
  })),
  {
    id: "S3-newer",
    title: "S3 a process of the former version recognises a record made by a newer one",
    async run(rig) {
      const identity = sampleIdentity("key");
      const former = sampleFingerprint("by the former version");
      await rig.grant(identity, "a", { fingerprint: { ...stored, version: 2, former: former.canonical } });
      assert.equal((await rig.claim(identity, "b", { fingerprint: former })).outcome, "processing");
      assert.equal((await rig.claim(identity, "b", { fingerprint: other })).outcome, "mismatch");
    },
  },
  {
    id: "S3-crossed",
    title: "S3 a raw hash never matches a canonical one",
    async run(rig) {
      const identity = sampleIdentity("key");
      await rig.grant(identity, "a", { fingerprint: stored });
      const crossed = { version: 1, raw: stored.canonical, canonical: stored.raw };
      assert.equal((await rig.claim(identity, "b", { fingerprint: crossed })).outcome, "mismatch");
    },
  },
];
