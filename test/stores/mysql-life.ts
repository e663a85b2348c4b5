/** One life with every verb in it, for the many settings under which each of them must mean the same. */
import assert from "node:assert/strict";
import type { MysqlStore } from "ichido/mysql";
import {
  sampleFingerprint,
  sampleIdentity,
  sampleOwner,
  sampleResponse,
} from "../../packages/ichido/src/testing/store-suite/samples.ts";

type ClaimRequest = Parameters<MysqlStore["claim"]>[0];

export function request(key: string, owner: string, changes: Partial<ClaimRequest> = {}): ClaimRequest {
  return {
    identity: sampleIdentity(key, { tenant: "Tenant \\' é", principal: "p " }),
    owner: sampleOwner(owner),
    fingerprint: sampleFingerprint(),
    leaseMs: 30_000,
    retentionMs: 86_400_000,
    takeover: "lapsed",
    ...changes,
  };
}

export async function granted(store: MysqlStore, asked: ClaimRequest) {
  const result = await store.claim(asked);
  assert.equal(result.outcome, "granted");
  return {
    ...(result as Extract<typeof result, { outcome: "granted" }>),
    identity: asked.identity,
    owner: asked.owner,
  };
}

export async function liveOneLife(store: MysqlStore, key: string): Promise<void> {
  const labels = { order: `7\\"'`, customer: "é" };
  const first = await granted(store, request(key, "a", { labels }));
  assert.ok(
    Number.isSafeInteger(first.fence) && Math.abs(first.createdAtMs - Date.now()) < 300_000,
    "UTC on both sides",
  );
  assert.equal((await granted(store, request(key, "a"))).fence, first.fence);
  assert.equal((await store.claim(request(key, "b"))).outcome, "processing");
  assert.equal((await store.claim(request(key, "b", { fingerprint: sampleFingerprint("other") }))).outcome, "mismatch");

  const step = { ...first, name: "charge \\'", leaseMs: 30_000 };
  assert.equal(await store.startStep(step), "ok");
  assert.equal(await store.finishStep({ ...step, result: new Uint8Array([0, 39, 92, 255]) }), "ok");
  assert.deepEqual([...((await store.steps(first.identity))[0]?.result ?? [])], [0, 39, 92, 255]);
  assert.deepEqual(
    [
      ...(await store.renew([
        { ...first, leaseMs: 30_000 },
        { ...first, fence: 1, leaseMs: 30_000 },
      ])),
    ],
    ["ok", "stale"],
  );

  assert.equal(
    await store.suspend({ ...first, interim: sampleResponse({ status: 202, body: "" }), holdReason: "ask \\'" }),
    "ok",
  );
  const doubt = await store.claim(request(key, "b"));
  assert.ok(doubt.outcome === "unknown" && doubt.holdReason === "ask \\'" && doubt.interim?.body.length === 0);
  const listed = await store.list({ state: "unknown", label: { name: "order", value: labels.order }, limit: 10 });
  assert.deepEqual(
    listed.records.map((record) => record.identity),
    [first.identity],
  );

  const settlement = { identity: first.identity, actor: "Ann", reason: "nothing \\' there" };
  assert.equal(await store.settle({ ...settlement, fence: first.fence, decision: { kind: "release" } }), "ok");
  assert.equal((await store.audit(first.identity))[0]?.reason, settlement.reason);
  assert.equal(await store.complete({ ...first, response: sampleResponse() }), "stale");

  const next = await granted(store, request(key, "b"));
  assert.deepEqual([next.origin, next.attempt, next.stepsStarted], ["failed", 2, 1]);
  assert.ok(next.fence > first.fence);
  const response = sampleResponse({ body: Uint8Array.from({ length: 256 }, (_, byte) => byte) });
  assert.equal(await store.complete({ ...next, response }), "ok");
  assert.equal(await store.complete({ ...next, response }), "ok", "again");
  assert.equal(await store.release(next), "stale");
  const replay = await store.claim(request(key, "c"));
  assert.ok(replay.outcome === "completed" && replay.fence === next.fence);
  assert.deepEqual([...replay.response.body], [...response.body]);
  const record = await store.find(first.identity);
  assert.deepEqual([record?.labels, record?.identity.tenant], [labels, first.identity.tenant]);

  const stats = await store.stats();
  assert.deepEqual([stats.records, stats.completed, stats.bodyBytes], [1, 1, 256]);
  await store.tick({ intervalMs: 60_000 });
  assert.deepEqual(await store.sweep({ limit: 10, budgetMs: 1_000 }), { deleted: 0, more: false, guarded: true });
  await store.watch(first.identity, 1);
}

/** A record that ticks allow to expire is taken as new, and swept with what hung on it. Takes about a second. */
/** The same for verbs that travel together: each member's own bytes, and none of its neighbours'. */
export async function liveTogether(store: MysqlStore, key: string): Promise<void> {
  const keys = ["a", "b", "c"].map((each) => `${key} ${each}`);
  const claims = await Promise.all(keys.map((each) => granted(store, request(each, each))));
  const bodies = claims.map((_, index) => new Uint8Array([index, 0, 39, 92, 255]));
  const responses = bodies.map((body, index) => ({ ...sampleResponse(), status: 200 + index, body }));
  const completed = claims.map((claim, index) =>
    store.complete({ ...claim, response: responses[index] ?? sampleResponse() }),
  );
  assert.deepEqual(await Promise.all(completed), ["ok", "ok", "ok"]);
  const replays = await Promise.all(keys.map((each) => store.claim(request(each, "other"))));
  const seen = replays.map((replay) => (replay.outcome === "completed" ? replay.response : replay.outcome));
  assert.deepEqual(seen, responses);
}

export async function outlive(store: MysqlStore, key: string): Promise<void> {
  const deadline = performance.now() + 20_000;
  const short = { retentionMs: 400, leaseMs: 100, labels: { order: "1" } };
  const first = await granted(store, request(key, "a", short));
  await store.startStep({ ...first, name: "charge", leaseMs: 100 });
  await store.complete({ ...first, response: sampleResponse() });
  await granted(store, request(`${key}-swept`, "a", short)).then((swept) => store.release(swept));
  for (;;) {
    assert.ok(performance.now() < deadline, "expired in time");
    await store.tick({ intervalMs: 100 });
    const again = await store.claim(request(key, "b", { fingerprint: sampleFingerprint("other") }));
    if (again.outcome === "granted") {
      assert.deepEqual(
        [again.origin, again.attempt, again.stepsStarted, again.fence > first.fence],
        ["new", 1, 0, true],
      );
      break;
    }
    assert.equal(again.outcome, "mismatch");
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
  assert.equal((await store.steps(first.identity)).length, 0);
  let deleted = 0;
  while (deleted === 0) {
    assert.ok(performance.now() < deadline, "swept in time");
    await store.tick({ intervalMs: 100 });
    ({ deleted } = await store.sweep({ limit: 10, budgetMs: 1_000 }));
  }
  assert.equal(deleted, 1);
}
