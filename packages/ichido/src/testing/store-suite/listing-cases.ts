/** S17 listing and stats, S18 hints. */
import assert from "node:assert/strict";
import type { ListQuery } from "../../core/contract/store.ts";
import type { StoreCase } from "./case.ts";
import { assertSame, retentionMsShort, type Rig } from "./rig.ts";
import { sampleIdentity, sampleResponse } from "./samples.ts";

/** One record in each state, in two tenants. */
async function furnish(rig: Rig): Promise<void> {
  const north = { tenant: "north", principal: "ann" };
  await rig.grant(sampleIdentity("live", north), "a", { labels: { order: "7", customer: "c" } });
  await rig.lapsed(sampleIdentity("lapsed", north), "b");
  await rig.completed(sampleIdentity("completed", north), "c", { labels: { order: "8" } });
  const south = { tenant: "south", operation: "refund" };
  const failed = await rig.grant(sampleIdentity("failed", south), "d", { labels: { customer: "7" } });
  assert.equal(await rig.store.release(failed.claim), "ok");
  const interim = await rig.grant(sampleIdentity("interim", south), "e");
  assert.equal(await rig.store.suspend({ ...interim.claim, interim: sampleResponse({ status: 202 }) }), "ok");
  const held = await rig.grant(sampleIdentity("held", { ...south, principal: "bob" }), "f");
  assert.equal(await rig.store.suspend({ ...held.claim, holdReason: "ask" }), "ok");
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
  { query: { state: "processing" }, keys: ["held", "interim", "lapsed", "live"] },
  { query: { state: "unknown" }, keys: ["held", "interim", "lapsed"] },
  { query: { state: "unknown", tenant: "north" }, keys: ["lapsed"] },
  { query: { label: { name: "order", value: "7" } }, keys: ["live"] },
  { query: { label: { name: "customer", value: "7" } }, keys: ["failed"] },
  { query: { label: { name: "order", value: "9" } }, keys: [] },
];

export const listingCases: readonly StoreCase[] = [
  {
    id: "S17-filters",
    title: "S17 list filters by tenant, principal, operation, key, state, unknown and label, in the order of keys",
    async run(rig) {
      await furnish(rig);
      for (const { query, keys } of filters) {
        const page = await rig.second.list({ ...query, limit: 100 });
        assert.deepEqual(
          page.records.map((record) => record.identity.key),
          keys,
          JSON.stringify(query),
        );
        assert.equal(page.cursor, undefined);
      }
    },
  },
  {
    id: "S17-doubt",
    title: "S17 a record in doubt counts as unknown also while someone is finding out",
    async run(rig) {
      const identity = sampleIdentity("key");
      const { claim } = await rig.grant(identity, "a");
      assert.equal(await rig.store.suspend({ ...claim, interim: sampleResponse({ status: 202 }) }), "ok");
      await rig.grant(identity, "b", { takeover: "open" });
      assert.equal((await rig.claim(identity, "c")).outcome, "processing");
      assert.equal((await rig.store.list({ state: "unknown", limit: 10 })).records.length, 1);
      const { processing, unknown } = await rig.store.stats();
      assert.deepEqual({ processing, unknown }, { processing: 1, unknown: 1 });
    },
  },
  {
    id: "S17-cursor",
    title: "S17 a cursor that no page gave is refused",
    async run(rig) {
      await rig.grant(sampleIdentity("key"), "a");
      await assert.rejects(rig.store.list({ limit: 1, cursor: "!" }));
    },
  },
  {
    id: "S17-fields",
    title: "S17 a listed record has its fields and no body",
    async run(rig) {
      await furnish(rig);
      const [record] = (await rig.store.list({ key: "completed", limit: 1 })).records;
      const whole = await rig.mustFind(sampleIdentity("completed", { tenant: "north", principal: "ann" }));
      assertSame(record, { ...whole, response: { ...sampleResponse(), body: new Uint8Array(0) } });
      const [interim] = (await rig.store.list({ key: "interim", limit: 1 })).records;
      assert.equal(interim?.interim?.status, 202);
      assert.equal(interim?.interim?.body.length, 0);
      const [held] = (await rig.store.list({ key: "held", limit: 1 })).records;
      assert.equal(held?.holdReason, "ask");
      const [live] = (await rig.store.list({ key: "live", limit: 1 })).records;
      assert.ok((live?.leaseLeftMs ?? 0) > 0);
    },
  },
  {
    id: "S17-paging",
    title: "S17 pages cover every record once, ordered by the bytes of the key, also while others are added",
    async run(rig) {
      const keys = Array.from({ length: 23 }, (_, index) => `${"kKbB-_9"[index % 7]}${index}`);
      const tenants = ["one", "two"];
      await Promise.all(
        keys.flatMap((key) => tenants.map((tenant) => rig.grant(sampleIdentity(key, { tenant }), `${tenant}-${key}`))),
      );
      const seen: string[] = [];
      let cursor: string | undefined;
      let pages = 0;
      do {
        const page = await rig.store.list({
          limit: 5,
          operation: "sample.create",
          ...(cursor === undefined ? {} : { cursor }),
        });
        assert.ok(page.records.length <= 5);
        assert.ok(page.cursor === undefined || page.records.length > 0, "a page with more to come is not empty");
        seen.push(...page.records.map((record) => `${record.identity.key}/${record.identity.tenant}`));
        cursor = page.cursor;
        pages += 1;
        if (pages === 2) await rig.grant(sampleIdentity("!added", { tenant: "one" }), "added");
      } while (cursor !== undefined && pages < 50);
      const expected = keys.flatMap((key) => tenants.map((tenant) => `${key}/${tenant}`));
      assert.deepEqual(seen.toSorted(), expected.toSorted());
      const order = seen.map((entry) => Buffer.from(entry.split("/")[0] ?? ""));
      assert.deepEqual(
        order,
        order.toSorted((a, b) => Buffer.compare(a, b)),
      );
    },
  },
  {
    id: "S17-paging-filtered",
    title: "S17 paging under a filter that few records match still finds all of them",
    async run(rig) {
      await Promise.all(
        Array.from({ length: 60 }, (_, index) =>
          rig.grant(sampleIdentity(`key-${index}`), `o-${index}`, {
            labels: { rare: index % 20 === 19 ? "yes" : "no" },
          }),
        ),
      );
      const seen: string[] = [];
      let cursor: string | undefined;
      let pages = 0;
      do {
        const page = await rig.store.list({
          limit: 1,
          label: { name: "rare", value: "yes" },
          ...(cursor === undefined ? {} : { cursor }),
        });
        seen.push(...page.records.map((record) => record.identity.key));
        cursor = page.cursor;
        pages += 1;
      } while (cursor !== undefined && pages < 200);
      assert.deepEqual(seen, ["key-19", "key-39", "key-59"]);
    },
  },
  {
    id: "S17-find",
    title: "S17 find gives the record of exactly this identity, or nothing",
    async run(rig) {
      await rig.completed(sampleIdentity("key", { tenant: "one" }), "a");
      assert.equal(await rig.store.find(sampleIdentity("key")), undefined);
      assert.equal(await rig.store.find(sampleIdentity("key", { tenant: "two" })), undefined);
      assert.equal(await rig.store.find(sampleIdentity("Key", { tenant: "one" })), undefined);
      const record = await rig.mustFind(sampleIdentity("key", { tenant: "one" }));
      assert.equal(record.state, "completed");
      assert.equal(record.leaseLeftMs, undefined);
      assertSame(record.response, sampleResponse());
      assert.ok(record.updatedAtMs >= record.createdAtMs);
    },
  },
  {
    id: "S17-stats",
    title: "S17 stats count stored states, unknown outcomes and body bytes",
    async run(rig) {
      const none = await rig.store.stats();
      assertSame(none, {
        records: 0,
        processing: 0,
        completed: 0,
        failed: 0,
        unknown: 0,
        bodyBytes: 0,
        sweepLagMs: 0,
        oldestUnknownMs: 0,
      });
      for (const [index, length] of [0, 10, 1_000].entries()) {
        const { claim } = await rig.grant(sampleIdentity(`done-${index}`), "a");
        assert.equal(
          await rig.store.complete({ ...claim, response: sampleResponse({ body: new Uint8Array(length) }) }),
          "ok",
        );
      }
      await rig.grant(sampleIdentity("live"), "b");
      const failed = await rig.grant(sampleIdentity("failed"), "c");
      assert.equal(await rig.store.release(failed.claim), "ok");
      const held = await rig.grant(sampleIdentity("held"), "d");
      assert.equal(await rig.store.suspend({ ...held.claim, holdReason: "ask" }), "ok");
      await rig.lapsed(sampleIdentity("lapsed"), "e");
      const { oldestUnknownMs, ...stats } = await rig.second.stats();
      assertSame(stats, {
        records: 7,
        processing: 3,
        completed: 3,
        failed: 1,
        unknown: 2,
        bodyBytes: 1_010,
        sweepLagMs: 0,
      });
      assert.ok(oldestUnknownMs > 0 && oldestUnknownMs < 60_000, `the oldest unknown is ${oldestUnknownMs} ms old`);
    },
  },
  {
    id: "S17-sweep-lag",
    title: "S17 the sweep lag is that of records a sweep would remove, and is gone after it",
    async run(rig) {
      const kept = await rig.grant(sampleIdentity("kept"), "a", { retentionMs: retentionMsShort });
      assert.equal(await rig.store.suspend({ ...kept.claim, holdReason: "ask" }), "ok");
      await rig.completed(sampleIdentity("gone"), "b", { retentionMs: retentionMsShort });
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
  },
  {
    id: "S18-ping",
    title: "S18 ping answers while claims do",
    async run(rig) {
      await rig.store.ping();
      await rig.second.ping();
      assert.ok(rig.store.name.length > 0);
      assert.ok(rig.store.capabilities.promise.length > 0, "the store says what an acknowledged write survives");
    },
  },
  {
    id: "S18-watch",
    title: "S18 watch wakes when the record is completed, released or suspended by another connection",
    needs: "watch",
    async run(rig) {
      const ends = {
        complete: (claim: Parameters<Rig["store"]["release"]>[0]) =>
          rig.second.complete({ ...claim, response: sampleResponse() }),
        release: (claim: Parameters<Rig["store"]["release"]>[0]) => rig.second.release(claim),
        suspend: (claim: Parameters<Rig["store"]["release"]>[0]) => rig.second.suspend(claim),
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
  },
];
