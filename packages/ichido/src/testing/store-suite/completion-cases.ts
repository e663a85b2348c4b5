/** S7 completed stays, S13 exact bytes. */
import assert from "node:assert/strict";
import type { HeaderLine } from "../../core/contract/record.ts";
import { defineCases } from "./case.ts";
import { asCompleted, assertHas, assertSame, keysOf } from "./rig.ts";
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

/** Each is a different key: no two may share a record. */
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

export const completionCases = defineCases({
  "S7-again: completing again with the same owner and fence answers ok and changes nothing": async (rig) => {
    const { claim } = await rig.completed(sampleIdentity("key"), "a");
    const before = await rig.snapshot(claim.identity);
    for (const store of [rig.store, rig.second]) {
      assert.equal(await store.complete({ ...claim, response: sampleResponse({ status: 500, body: "other" }) }), "ok");
    }
    assert.deepEqual(await rig.snapshot(claim.identity), before);
  },
  "S7-lapsed: an owner whose lease lapsed completes as long as nobody took over": async (rig) => {
    const { claim } = await rig.lapsed(sampleIdentity("key"), "a");
    await rig.complete(claim);
    assertSame(asCompleted(await rig.claim(claim.identity, "b")).response, sampleResponse());
  },
  "S7-replay: replays are equal, whoever asks, and change nothing": async (rig) => {
    const { claim, granted } = await rig.completed(sampleIdentity("key"), "a");
    const before = await rig.snapshot(claim.identity);
    const { fence, createdAtMs, expiresAtMs } = granted;
    for (const result of await rig.race(claim.identity, 20, { takeover: "open" })) {
      const answer = asCompleted(result);
      assertHas(answer, { response: sampleResponse(), fence, attempts: 1, createdAtMs, expiresAtMs });
      assert.ok(answer.expiresInMs > 0 && answer.expiresInMs <= expiresAtMs - createdAtMs);
    }
    assert.deepEqual(await rig.snapshot(claim.identity), before);
  },
  "S7-tombstone: a tombstone stays a tombstone, with status and headers": async (rig) => {
    const response = sampleResponse({ kind: "tombstone", status: 303, headers: [["location", "/x"]], body: "" });
    const { claim } = await rig.grant(sampleIdentity("key"), "a");
    await rig.complete(claim, response);
    assertSame(asCompleted(await rig.claim(claim.identity, "b")).response, response);
    assertSame((await rig.mustFind(claim.identity)).response, response);
  },
  "S7-alias: neither the caller's buffer nor a replayed one is a way to change what is stored": async (rig) => {
    const body = new Uint8Array([1, 2, 3]);
    const { claim } = await rig.grant(sampleIdentity("key"), "a");
    await rig.complete(claim, sampleResponse({ body }));
    body.fill(9);
    const first = asCompleted(await rig.claim(claim.identity, "b"));
    assertSame(first.response.body, new Uint8Array([1, 2, 3]));
    first.response.body.fill(9);
    (await rig.mustFind(claim.identity)).response?.body.fill(9);
    assertSame(asCompleted(await rig.claim(claim.identity, "c")).response.body, new Uint8Array([1, 2, 3]));
  },
  "S13-body: bodies of any bytes come back unchanged: answers, interim answers and step results": async (rig) => {
    for (const [what, body] of Object.entries(bodies)) {
      const response = sampleResponse({ body });
      const { claim } = await rig.grant(sampleIdentity(what), "a");
      await rig.startStep(claim, what);
      await rig.finishStep(claim, what, body);
      assertSame((await rig.store.steps(claim.identity))[0]?.result, body, `step result: ${what}`);
      assert.equal(await rig.store.suspend({ ...claim, interim: response }), "ok");
      const unknown = await rig.claim(claim.identity, "b");
      assertSame(unknown.outcome === "unknown" ? unknown.interim : unknown, response, `interim answer: ${what}`);
      await rig.complete(claim, response);
      assertSame(asCompleted(await rig.second.claim(rig.request(claim.identity, "c"))).response, response, what);
      assertSame((await rig.mustFind(claim.identity)).response, response, what);
    }
  },
  "S13-view: a body that is a window on a larger buffer is stored as the window": async (rig) => {
    const { claim } = await rig.grant(sampleIdentity("key"), "a");
    const body = everyByte.subarray(10, 20);
    await rig.complete(claim, sampleResponse({ body }));
    assertSame(asCompleted(await rig.claim(claim.identity, "b")).response.body, body.slice());
  },
  "S13-headers: headers keep order, multiplicity and exact values": async (rig) => {
    const { claim } = await rig.grant(sampleIdentity("key"), "a");
    const response = sampleResponse({ headers });
    await rig.complete(claim, response);
    const answer = asCompleted(await rig.claim(claim.identity, "b"));
    assert.deepEqual(
      answer.response.headers.map(([name, value]) => [name, value]),
      headers.map(([name, value]) => [name, value]),
    );
  },
  [`S13-keys: ${keys.length} keys that differ in case, spaces, normal form or quoting never meet`]: async (rig) => {
    await Promise.all(
      keys.map(async (key, index) => {
        const { claim, granted } = await rig.grant(sampleIdentity(key), `owner-${index}`);
        assert.equal(granted.origin, "new", key);
        await rig.complete(claim, sampleResponse({ body: key }));
      }),
    );
    for (const key of keys) {
      const answer = asCompleted(await rig.claim(sampleIdentity(key), "late"));
      assertSame(answer.response, sampleResponse({ body: key }), key);
      assert.deepEqual(await keysOf(rig.store, { key }), [key]);
    }
  },
  "S13-scopes: tenant, principal, operation, labels and hold reasons of any text come back unchanged": async (rig) => {
    for (const [index, text] of keys.entries()) {
      if (text.length > 200) continue;
      const identity = sampleIdentity(`key-${index}`, { tenant: text, principal: text, operation: text });
      const labels = Object.fromEntries([
        [text, text],
        ["order", `${index}`],
      ]);
      await rig.suspended(identity, "a", { holdReason: text }, { labels });
      const record = await rig.mustFind(identity);
      assertHas(record, { identity, holdReason: text });
      assert.deepEqual(new Map(Object.entries(record.labels)), new Map(Object.entries(labels)));
      assert.deepEqual(await keysOf(rig.store, { tenant: text }), [identity.key]);
      assert.deepEqual(await keysOf(rig.store, { label: { name: text, value: text } }), [identity.key]);
    }
  },
});
