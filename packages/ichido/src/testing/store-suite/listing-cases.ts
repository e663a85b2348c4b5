/** S17 listing and stats, S18 hints. */
import assert from "node:assert/strict";
import type { Claim, ListPage, ListQuery, StoredRecord } from "../../core/contract/store.ts";
import { casesNeeding, defineCases, type StoreCase } from "./case.ts";
import { assertHas, assertSame, atOnce, keysOf, retentionMsShort, type Rig } from "./rig.ts";
import { sampleIdentity, sampleResponse } from "./samples.ts";

/** One record in each state, in two tenants. */
async function furnish(rig: Rig): Promise<void> {
  const north = { tenant: "north", principal: "ann" };
  await rig.grant(sampleIdentity("live", north), "a", { labels: { order: "7", customer: "c" } });
  await rig.lapsed(sampleIdentity("lapsed", north), "b");
  await rig.completed(sampleIdentity("completed", north), "c", { labels: { order: "8" } });
  const south = { tenant: "south", operation: "refund" };
  await rig.failed(sampleIdentity("failed", south), "d", { labels: { customer: "7" } });
  await rig.suspended(sampleIdentity("interim", south), "e", {
    interim: sampleResponse({ status: 202 }),
  });
  await rig.suspended(sampleIdentity("held", { ...south, principal: "bob" }), "f", { holdReason: "ask" });
}

async function* pagesOf({ store }: Rig, query: ListQuery): AsyncGenerator<ListPage> {
  let page = await store.list(query);
  for (let pages = 1; pages < 200; pages += 1) {
    yield page;
    if (page.cursor === undefined) return;
    page = await store.list({ ...query, cursor: page.cursor });
  }
}

const filters: readonly { readonly query: Omit<ListQuery, "limit">; readonly keys: readonly string[] }[] = [
  { query: {}, keys: ["completed", "failed", "held", "interim", "lapsed", "live"] },
  { query: { tenant: "north" }, keys: ["completed", "lapsed", "live"] },
  { query: { tenant: "North" }, keys: [] },
  { query: { principal: "ann" }, keys: ["completed", "lapsed", "live"] },
  { query: { tenant: "south", principal: "bob" }, keys: ["held"] },
  { query: { operation: "refund" }, keys: ["failed", "held", "interim"] },
  { query: { key: "lapsed" }, keys: ["lapsed"] },
  { query: { state: "completed" }, keys: ["completed"] },
  { query: { state: "failed" }, keys: ["failed"] },
  { query: { state: "processing" }, keys: ["live"] },
  { query: { state: "processing", label: { name: "order", value: "7" } }, keys: ["live"] },
  { query: { state: "unknown" }, keys: ["held", "interim", "lapsed"] },
  { query: { state: "unknown", tenant: "north" }, keys: ["lapsed"] },
  { query: { label: { name: "order", value: "7" } }, keys: ["live"] },
  { query: { label: { name: "customer", value: "7" } }, keys: ["failed"] },
  { query: { label: { name: "order", value: "9" } }, keys: [] },
];

export const listingCases: readonly StoreCase[] = [
  ...defineCases({
    "S17-filters: list filters by tenant, principal, operation, key, state, unknown and label, in the order of keys":
      async (rig) => {
        await furnish(rig);
        for (const { query, keys } of filters) {
          assert.deepEqual(await keysOf(rig.second, query), keys, JSON.stringify(query));
          const { cursor, records } = await rig.second.list({ ...query, limit: 100 });
          assert.equal(cursor, undefined);
          for (const { identity, state } of records) {
            assert.equal((await rig.mustFind(identity)).state, state, "found as it is listed");
            assert.equal(state, query.state ?? state, JSON.stringify(query));
          }
        }
      },
    "S17-doubt: a record in doubt counts as unknown also while someone is finding out": async (rig, identity) => {
      const { claim } = await rig.grant(identity, "a", { labels: { order: "7" } });
      assert.equal(await rig.store.suspend({ ...claim, interim: sampleResponse({ status: 202 }) }), "ok");
      await rig.grant(identity, "b", { takeover: "open" });
      assert.equal((await rig.claim(identity, "c")).outcome, "processing");
      const { state: found, leaseLeftMs = 0 } = await rig.mustFind(identity);
      assert.deepEqual({ found, isLive: leaseLeftMs > 0 }, { found: "unknown", isLive: true });
      for (const label of [undefined, { name: "order", value: "7" }]) {
        for (const state of ["processing", "completed", "failed", "unknown"] as const) {
          const { records } = await rig.store.list({ state, limit: 10, ...(label && { label }) });
          const seen = records.map((record) => record.state);
          assert.deepEqual(seen, state === "unknown" ? ["unknown"] : [], JSON.stringify({ state, label }));
        }
      }
      assertHas(await rig.store.stats(), { processing: 0, unknown: 1 });
    },
    "S17-cursor: a cursor that no page gave is refused": async (rig) => {
      await rig.grant(sampleIdentity("key"), "a");
      await assert.rejects(rig.store.list({ limit: 1, cursor: "!" }));
    },
    "S17-fields: a listed record has its fields and no body": async (rig) => {
      await furnish(rig);
      const listed = async (key: string): Promise<StoredRecord> =>
        (await rig.store.list({ key, limit: 1 })).records[0] ?? assert.fail();
      const whole = await rig.mustFind(sampleIdentity("completed", { tenant: "north", principal: "ann" }));
      const response = { ...sampleResponse(), body: new Uint8Array(0) };
      assertSame(await listed("completed"), { ...whole, response });
      const { interim } = await listed("interim");
      assert.deepEqual([interim?.status, interim?.body.length], [202, 0]);
      assert.equal((await listed("held")).holdReason, "ask");
      assert.ok(((await listed("live")).leaseLeftMs ?? 0) > 0);
    },
    "S17-paging: pages cover every record once, ordered by the bytes of the key, also while others are added": async (
      rig,
    ) => {
      const keys = Array.from({ length: 23 }, (_, index) => `${"kKbB-_9"[index % 7]}${index}`);
      const tenants = ["one", "two"];
      await Promise.all(
        keys.flatMap((key) => tenants.map((tenant) => rig.grant(sampleIdentity(key, { tenant }), `${tenant}-${key}`))),
      );
      const seen: string[] = [];
      let pages = 0;
      for await (const page of pagesOf(rig, { limit: 5, operation: "sample.create" })) {
        assert.ok(page.records.length <= 5);
        assert.ok(page.cursor === undefined || page.records.length > 0, "a page with more to come is not empty");
        seen.push(...page.records.map((record) => `${record.identity.key}/${record.identity.tenant}`));
        pages += 1;
        if (pages === 2) await rig.grant(sampleIdentity("!added", { tenant: "one" }), "added");
      }
      const expected = keys.flatMap((key) => tenants.map((tenant) => `${key}/${tenant}`));
      assert.deepEqual(seen.toSorted(), expected.toSorted());
      const order = seen.map((entry) => Buffer.from(entry.split("/")[0] ?? ""));
      assert.deepEqual(
        order,
        order.toSorted((a, b) => Buffer.compare(a, b)),
      );
    },
    "S17-paging-filtered: paging under a filter that few records match still finds all of them": async (rig) => {
      await atOnce(60, (index) => {
        const labels = { rare: index % 20 === 19 ? "yes" : "no" };
        return rig.grant(sampleIdentity(`key-${index}`), `o-${index}`, { labels });
      });
      const seen: string[] = [];
      for await (const page of pagesOf(rig, { limit: 1, label: { name: "rare", value: "yes" } })) {
        seen.push(...page.records.map((record) => record.identity.key));
      }
      assert.deepEqual(seen, ["key-19", "key-39", "key-59"]);
    },
    "S17-look: pages that end after so many looks find every match once, in the order of keys": async (rig) => {
      await atOnce(30, (index) => {
        const operation = index % 10 === 9 ? "rare.create" : "sample.create";
        return rig.grant(sampleIdentity(`key-${index}`, { operation }), `o-${index}`);
      });
      const seen: string[] = [];
      for await (const page of pagesOf(rig, { limit: 2, lookMax: 4, operation: "rare.create" })) {
        assert.ok(page.looked === undefined || page.looked <= 4, "no more is looked at than was allowed");
        seen.push(...page.records.map((record) => record.identity.key));
      }
      assert.deepEqual(seen, ["key-19", "key-29", "key-9"]);
    },
    "S17-find: find gives the record of exactly this identity, or nothing": async (rig) => {
      await rig.completed(sampleIdentity("key", { tenant: "one" }), "a");
      assert.equal(await rig.store.find(sampleIdentity("key")), undefined);
      assert.equal(await rig.store.find(sampleIdentity("key", { tenant: "two" })), undefined);
      assert.equal(await rig.store.find(sampleIdentity("Key", { tenant: "one" })), undefined);
      const record = await rig.mustFind(sampleIdentity("key", { tenant: "one" }));
      assertHas(record, { state: "completed", leaseLeftMs: undefined, response: sampleResponse() });
      assert.ok(record.updatedAtMs >= record.createdAtMs);
    },
    "S17-stats: stats count stored states, unknown outcomes and body bytes": async (rig) => {
      const states = { records: 0, processing: 0, completed: 0, failed: 0, unknown: 0 };
      assertSame(await rig.store.stats(), { ...states, bodyBytes: 0, sweepLagMs: 0, oldestUnknownMs: 0 });
      for (const [index, length] of [0, 10, 1_000].entries()) {
        const { claim } = await rig.grant(sampleIdentity(`done-${index}`), "a");
        await rig.complete(claim, sampleResponse({ body: new Uint8Array(length) }));
      }
      await rig.grant(sampleIdentity("live"), "b");
      await rig.failed(sampleIdentity("failed"), "c");
      await rig.suspended(sampleIdentity("held"), "d", { holdReason: "ask" });
      await rig.lapsed(sampleIdentity("lapsed"), "e");
      const { oldestUnknownMs, ...stats } = await rig.second.stats();
      const counted = { records: 7, processing: 1, completed: 3, failed: 1, unknown: 2 };
      assertSame(stats, { ...counted, bodyBytes: 1_010, sweepLagMs: 0 });
      assert.ok(oldestUnknownMs > 0 && oldestUnknownMs < 60_000, `the oldest unknown is ${oldestUnknownMs} ms old`);
    },
    "S17-sweep-lag: the sweep lag is that of records a sweep would remove, and is gone after it": async (rig) => {
      const asked = { retentionMs: retentionMsShort };
      const kept = await rig.suspended(sampleIdentity("kept"), "a", { holdReason: "ask" }, asked);
      await rig.completed(sampleIdentity("gone"), "b", asked);
      await rig.outliveRetention();
      await rig.pass(20);
      const { sweepLagMs } = await rig.store.stats();
      assert.ok(sweepLagMs > 0 && sweepLagMs < 60_000, `lag ${sweepLagMs} ms`);
      await rig.eventually("the lag is gone", async () => {
        await rig.sweepAll();
        return (await rig.store.stats()).sweepLagMs === 0;
      });
      await rig.mustFind(kept.claim.identity);
    },
    "S18-ping: ping answers while claims do": async (rig) => {
      await rig.store.ping();
      await rig.second.ping();
      assert.ok(rig.store.name.length > 0);
      assert.ok(rig.store.capabilities.promise.length > 0, "the store says what an acknowledged write survives");
    },
  }),
  ...casesNeeding("watch", {
    "S18-watch: watch wakes when the record is completed, released or suspended by another connection": async (rig) => {
      const ends = {
        complete: (claim: Claim) => rig.second.complete({ ...claim, response: sampleResponse() }),
        release: (claim: Claim) => rig.second.release(claim),
        suspend: (claim: Claim) => rig.second.suspend(claim),
      };
      for (const [verb, end] of Object.entries(ends)) {
        const { claim } = await rig.grant(sampleIdentity(verb), "a");
        let woken = false;
        const waiting = rig.store.watch?.(claim.identity, 600_000).then(() => {
          woken = true;
          return undefined;
        });
        await new Promise((resolve) => setTimeout(resolve, 50));
        assert.equal(await end(claim), "ok");
        await rig.eventually(`watch wakes after ${verb}`, async () => {
          await new Promise((resolve) => setTimeout(resolve, 5));
          return woken;
        });
        await waiting;
      }
    },
  }),
];
