/** S7 completed stays, S13 exact bytes. */
import assert from "node:assert/strict";
import type { HeaderLine } from "../../core/contract/record.ts";
import type { StoreCase } from "./case.ts";
import { asCompleted, assertSame, leaseMsLong } from "./rig.ts";
import { sampleIdentity, sampleResponse } from "./samples.ts";

const everyByte = Uint8Array.from({ length: 256 }, (_, value) => value);

const bodies: Readonly<Record<string, Uint8Array>> = {
  "no bytes": new Uint8Array(0),
  "one NUL": new Uint8Array(1),
  "all 256 byte values": everyByte,
  "bytes that are not UTF-8": new Uint8Array([0xff, 0xfe, 0xc3, 0x28, 0xed, 0xa0, 0x80]),
  "a byte order mark": new Uint8Array([0xef, 0xbb, 0xbf, 0x7b, 0x7d]),
  "line ends of all kinds": new TextEncoder().encode("\r\n\n\r\\n\\0'\"`"),
  "one MiB": Uint8Array.from({ length: 1_048_576 }, (_, index) => (index * 31 + (index >> 8)) & 0xff),
};

const headers: readonly HeaderLine[] = [
  ["content-type", "application/json; charset=utf-8"],
  ["link", "</a>; rel=next"],
  ["x-empty", ""],
  ["link", "</b>; rel=prev"],
  ["etag", 'W/"1\\"2"'],
  ["x-latin", "caf\u00e9"],
  ["__proto__", "x"],
  ["link", "</a>; rel=next"],
];

/** Each is a key of its own: no two may ever meet. */
const keys: readonly string[] = [
  "key",
  "KEY",
  "Key",
  " key",
  "key ",
  "key  ",
  "caf\u00e9",
  "cafe\u0301",
  "CAF\u00c9",
  "stra\u00dfe",
  "strasse",
  "\u{1f600}",
  "\uff4b\uff45\uff59",
  "'; drop table ichido_records; --",
  "a'b\"c`d\\e",
  "%",
  "_",
  "{}",
  "{key}",
  "key}:{",
  ":",
  "a:b",
  "*",
  "key\\0",
  "$1",
  "?",
  "__proto__",
  "constructor",
  "null",
  "0",
  "00",
  "1e0",
  "1",
  "a".repeat(255),
  "a".repeat(254),
  `${"a".repeat(254)}b`,
];

export const completionCases: readonly StoreCase[] = [
  {
    id: "S7-again",
    title: "S7 completing again with the same owner and fence answers ok and changes nothing",
    async run(rig) {
      const { claim } = await rig.completed(sampleIdentity("key"), "a");
      const before = await rig.snapshot(claim.identity);
      for (const store of [rig.store, rig.second]) {
        assert.equal(
          await store.complete({ ...claim, response: sampleResponse({ status: 500, body: "other" }) }),
          "ok",
        );
      }
      assert.deepEqual(await rig.snapshot(claim.identity), before);
    },
  },
  {
    id: "S7-lapsed",
    title: "S7 an owner whose lease lapsed completes as long as nobody took over",
    async run(rig) {
      const { claim } = await rig.lapsed(sampleIdentity("key"), "a");
      assert.equal(await rig.store.complete({ ...claim, response: sampleResponse() }), "ok");
      const answer = asCompleted(await rig.claim(claim.identity, "b"));
      assertSame(answer.response, sampleResponse());
    },
  },
  {
    id: "S7-replay",
    title: "S7 replays are equal, whoever asks, and change nothing",
    async run(rig) {
      const { claim, granted } = await rig.completed(sampleIdentity("key"), "a");
      const before = await rig.snapshot(claim.identity);
      const asked = Array.from({ length: 20 }, (_, index) =>
        (index % 2 === 0 ? rig.store : rig.second).claim(
          rig.request(claim.identity, `b-${index}`, { takeover: "open" }),
        ),
      );
      for (const result of await Promise.all(asked)) {
        const answer = asCompleted(result);
        assertSame(answer.response, sampleResponse());
        assert.equal(answer.fence, granted.fence);
        assert.equal(answer.attempts, 1);
        assert.equal(answer.createdAtMs, granted.createdAtMs);
        assert.equal(answer.expiresAtMs, granted.expiresAtMs);
        assert.ok(answer.expiresInMs > 0 && answer.expiresInMs <= granted.expiresAtMs - granted.createdAtMs);
      }
      assert.deepEqual(await rig.snapshot(claim.identity), before);
    },
  },
  {
    id: "S7-tombstone",
    title: "S7 a tombstone stays a tombstone, with status and headers",
    async run(rig) {
      const response = sampleResponse({ kind: "tombstone", status: 303, headers: [["location", "/x"]], body: "" });
      const { claim } = await rig.grant(sampleIdentity("key"), "a");
      assert.equal(await rig.store.complete({ ...claim, response }), "ok");
      assertSame(asCompleted(await rig.claim(claim.identity, "b")).response, response);
      assertSame((await rig.mustFind(claim.identity)).response, response);
    },
  },
  {
    id: "S7-alias",
    title: "S7 neither the caller's buffer nor a replayed one is a way to change what is stored",
    async run(rig) {
      const body = new Uint8Array([1, 2, 3]);
      const { claim } = await rig.grant(sampleIdentity("key"), "a");
      assert.equal(await rig.store.complete({ ...claim, response: sampleResponse({ body }) }), "ok");
      body.fill(9);
      const first = asCompleted(await rig.claim(claim.identity, "b"));
      assertSame(first.response.body, new Uint8Array([1, 2, 3]));
      first.response.body.fill(9);
      (await rig.mustFind(claim.identity)).response?.body.fill(9);
      assertSame(asCompleted(await rig.claim(claim.identity, "c")).response.body, new Uint8Array([1, 2, 3]));
    },
  },
  {
    id: "S13-body",
    title: "S13 bodies of any bytes come back unchanged: answers, interim answers and step results",
    async run(rig) {
      for (const [what, body] of Object.entries(bodies)) {
        const response = sampleResponse({ body });
        const { claim } = await rig.grant(sampleIdentity(what), "a");
        assert.equal(await rig.store.startStep({ ...claim, name: what, leaseMs: leaseMsLong }), "ok");
        const finished = await rig.store.finishStep({ ...claim, name: what, leaseMs: leaseMsLong, result: body });
        assert.equal(finished, "ok");
        assertSame((await rig.store.steps(claim.identity))[0]?.result, body, `step result: ${what}`);
        assert.equal(await rig.store.suspend({ ...claim, interim: response }), "ok");
        const unknown = await rig.claim(claim.identity, "b");
        assertSame(unknown.outcome === "unknown" ? unknown.interim : unknown, response, `interim answer: ${what}`);
        assert.equal(await rig.store.complete({ ...claim, response }), "ok");
        assertSame(asCompleted(await rig.second.claim(rig.request(claim.identity, "c"))).response, response, what);
        assertSame((await rig.mustFind(claim.identity)).response, response, what);
      }
    },
  },
  {
    id: "S13-view",
    title: "S13 a body that is a window on a larger buffer is stored as the window",
    async run(rig) {
      const { claim } = await rig.grant(sampleIdentity("key"), "a");
      const body = everyByte.subarray(10, 20);
      assert.equal(await rig.store.complete({ ...claim, response: sampleResponse({ body }) }), "ok");
      assertSame(asCompleted(await rig.claim(claim.identity, "b")).response.body, body.slice());
    },
  },
  {
    id: "S13-headers",
    title: "S13 headers keep order, multiplicity and exact values",
    async run(rig) {
      const { claim } = await rig.grant(sampleIdentity("key"), "a");
      const response = sampleResponse({ headers });
      assert.equal(await rig.store.complete({ ...claim, response }), "ok");
      const answer = asCompleted(await rig.claim(claim.identity, "b"));
      assert.deepEqual(
        answer.response.headers.map(([name, value]) => [name, value]),
        headers.map(([name, value]) => [name, value]),
      );
    },
  },
  {
    id: "S13-keys",
    title: `S13 ${keys.length} keys that differ in case, spaces, normal form or quoting never meet`,
    async run(rig) {
      await Promise.all(
        keys.map(async (key, index) => {
          const { claim, granted } = await rig.grant(sampleIdentity(key), `owner-${index}`);
          assert.equal(granted.origin, "new", key);
          assert.equal(await rig.store.complete({ ...claim, response: sampleResponse({ body: key }) }), "ok");
        }),
      );
      for (const key of keys) {
        const answer = asCompleted(await rig.claim(sampleIdentity(key), "late"));
        assertSame(answer.response, sampleResponse({ body: key }), key);
        const page = await rig.store.list({ key, limit: 10 });
        assert.deepEqual(
          page.records.map((record) => record.identity.key),
          [key],
        );
      }
    },
  },
  {
    id: "S13-scopes",
    title: "S13 tenant, principal, operation, labels and hold reasons of any text come back unchanged",
    async run(rig) {
      for (const [index, text] of keys.entries()) {
        if (text.length > 200) continue;
        const identity = sampleIdentity(`key-${index}`, { tenant: text, principal: text, operation: text });
        const labels = Object.fromEntries([
          [text, text],
          ["order", `${index}`],
        ]);
        const { claim } = await rig.grant(identity, "a", { labels });
        assert.equal(await rig.store.suspend({ ...claim, holdReason: text }), "ok");
        const record = await rig.mustFind(identity);
        assertSame(record.identity, identity);
        assert.deepEqual(new Map(Object.entries(record.labels)), new Map(Object.entries(labels)));
        assert.equal(record.holdReason, text);
        const byTenant = await rig.store.list({ tenant: text, limit: 10 });
        assert.deepEqual(
          byTenant.records.map((found) => found.identity.key),
          [identity.key],
        );
        const byLabel = await rig.store.list({ label: { name: text, value: text }, limit: 10 });
        assert.deepEqual(
          byLabel.records.map((found) => found.identity.key),
          [identity.key],
        );
      }
    },
  },
];
