/** S21 the attempt log, S22 suspected duplicates. */
import assert from "node:assert/strict";
import { limits } from "../../core/contract/defaults.ts";
import type { AttemptNote, HistoryPage, HistoryQuery, LoggedAttempt } from "../../core/contract/history.ts";
import type { Identity } from "../../core/contract/record.ts";
import type { Store } from "../../core/contract/store.ts";
import { defineCases, type StoreCase } from "./case.ts";
import { assertHas, retentionMsShort, type Rig } from "./rig.ts";
import { sampleFingerprint, sampleIdentity, sampleResponse, settlement } from "./samples.ts";

let numbers = 0;

export function sampleNote(identity: Identity, changes: Partial<AttemptNote> = {}): AttemptNote {
  numbers += 1;
  return { identity, number: numbers, outcome: "replayed", agoMs: 0, tookMs: 1.5, keepMs: 86_400_000, ...changes };
}

/** The first run of a key. */
export function sampleRun(identity: Identity, content = "content", changes: Partial<AttemptNote> = {}): AttemptNote {
  const { canonical } = sampleFingerprint(content);
  return sampleNote(identity, { outcome: "executed", attempt: 1, fence: 7, status: 201, canonical, ...changes });
}

/** The pairs that it shows. */
export async function logged(store: Store, notes: readonly AttemptNote[], suspectWithinMs = 60_000) {
  const batch = { process: processNames.get(store) ?? "api-3:811", release: "v1.4", notes, suspectWithinMs };
  return (await store.log(batch)).pairs;
}

/** Two processes have two names. */
const processNames = new WeakMap<Store, string>();

async function keysFollowed(rig: Rig, query: HistoryQuery): Promise<readonly [string[], string | undefined]> {
  const page: HistoryPage<LoggedAttempt> = await rig.second.follow(query);
  return [page.entries.map(({ record }) => record.key), page.cursor];
}

/** Until the walk has come to its end: a store may show what was just written a moment later. */
async function followAll(rig: Rig, count: number, limit = 100): Promise<readonly string[]> {
  const keys: string[] = [];
  let cursor: string | undefined;
  await rig.eventually("all attempts are followed", async () => {
    const [found, next] = await keysFollowed(rig, { limit, ...(cursor !== undefined && { cursor }) });
    keys.push(...found);
    cursor = next;
    return keys.length >= count;
  });
  return keys;
}

const pairOf = ({ first, second }: { first: { key: string }; second: { key: string } }): string =>
  `${first.key} ${second.key}`;

export const attemptCases: readonly StoreCase[] = defineCases({
  "S21-kept: a record's attempts come back from old to new, with all that was told of them": async (rig, identity) => {
    await rig.completed(identity, "a");
    await rig.pass(5);
    const run = sampleRun(identity, "content", { agoMs: 1_000, tookMs: 12.5, askedBy: 'app "ü" 1.2' });
    const refusal = sampleNote(identity, { outcome: "key_reused", status: 422, observed: true });
    await logged(rig.store, [run, refusal]);
    await rig.store.log({ process: "other", notes: [sampleNote(identity)], suspectWithinMs: 0 });
    const [, first, second, third, ...rest] = await rig.second.attempts(identity);
    const { createdAtMs } = await rig.mustFind(identity);
    assert.ok(first !== undefined && second !== undefined && third !== undefined && rest.length === 0);
    const { key, scopeHash, operation } = identity;
    const where = { record: { key, scopeHash, operation }, process: "api-3:811", release: "v1.4" };
    const ran = { outcome: "executed", status: 201, attempt: 1, fence: 7, askedBy: 'app "ü" 1.2' } as const;
    assertHas(first, { ...where, ...ran, number: run.number, tookMs: 12.5, observed: undefined });
    assertHas(second, { ...where, outcome: "key_reused", status: 422, observed: true, attempt: undefined });
    assertHas(third, { process: "other", release: undefined, outcome: "replayed", status: undefined });
    assert.ok(second.atMs - first.atMs >= 999 && second.atMs - first.atMs <= 1_001, "by the store's clock");
    assert.ok(Math.abs(second.atMs - createdAtMs) < 20_000);
    assert.deepEqual(await rig.second.attempts(sampleIdentity("key", { tenant: "other" })), []);
  },
  "S21-told: a record that was completed at its first attempt tells of that run, by the process that made its owner":
    async (rig, identity) => {
      const { claim } = await rig.completed(identity, "a");
      const owners = claim.owner.replaceAll("-", "").slice(0, 16);
      const [unnamed, ...none] = await rig.second.attempts(identity);
      assert.ok(unnamed !== undefined && none.length === 0, "without any log");
      assert.equal(unnamed.process, "not known");
      const kept = sampleRun(identity, "content", { kept: true, fence: claim.fence });
      await rig.store.log({ process: "api-9:1", release: "v2", owners, notes: [kept], suspectWithinMs: 0 });
      const [run, ...rest] = await rig.second.attempts(identity);
      assert.ok(run !== undefined && rest.length === 0, "once");
      const { createdAtMs, response } = await rig.mustFind(identity);
      const { key, scopeHash, operation } = identity;
      assertHas(run, { record: { key, scopeHash, operation }, process: "api-9:1", release: "v2", number: 0 });
      assertHas(run, { outcome: "executed", attempt: 1, fence: claim.fence, atMs: createdAtMs });
      assert.equal(run.status, response?.status);
      assert.deepEqual(await followAll(rig, 1), [identity.key], "and it is followed");
    },
  "S21-not-told: what another owner, a person or nobody completed is no first run": async (rig) => {
    const [open, failed, adopted] = ["open", "failed", "adopted"].map((key) => sampleIdentity(key)) as [
      Identity,
      Identity,
      Identity,
    ];
    await rig.grant(open, "a");
    await rig.failed(failed, "b");
    const { claim } = await rig.lapsed(adopted, "c");
    assert.equal(await rig.store.settle(settlement(claim, { kind: "adopt", response: sampleResponse() })), "ok");
    for (const identity of [open, failed, adopted]) assert.deepEqual(await rig.second.attempts(identity), []);
    const again = await rig.grant(failed, "d");
    await rig.complete(again.claim);
    assert.deepEqual(await rig.second.attempts(failed), [], "which of its runs that was, the log tells");
  },
  "S21-merged: equal answers of one batch are one entry, with how many they were and when the last was": async (
    rig,
    identity,
  ) => {
    await rig.grant(identity, "a");
    await logged(rig.store, [sampleNote(identity, { count: 12, agoMs: 2_000, spreadMs: 1_500 })]);
    const [entry, ...none] = await rig.second.attempts(identity);
    assert.ok(entry?.lastAtMs !== undefined && none.length === 0);
    assert.equal(entry.count, 12);
    assert.ok(Math.abs(entry.lastAtMs - entry.atMs - 1_500) <= 2);
    await rig.eventually("it is followed", async () => {
      const [followed] = (await rig.second.follow({ limit: 10 })).entries;
      return followed?.count === 12 && Math.abs((followed.lastAtMs ?? 0) - followed.atMs - 1_500) <= 2;
    });
  },
  "S21-pages: a walk in small steps sees every note of a large batch once, and any key as it was sent": async (rig) => {
    const keys = Array.from({ length: 60 }, (_, index) => `key-${index}-${index % 2 === 0 ? "" : "ü\ud83d"}`);
    await logged(
      rig.store,
      keys.map((key) => sampleRun(sampleIdentity(key), key, { kept: true })),
    );
    await logged(rig.second, [sampleNote(sampleIdentity("last"))]);
    assert.deepEqual(await followAll(rig, keys.length + 1, 7), [...keys, "last"]);
  },
  "S21-copies: a batch that was sent again after its reply was lost shows each attempt once": async (rig, identity) => {
    await rig.completed(identity, "a");
    const notes = [sampleRun(identity), sampleNote(identity)];
    await logged(rig.store, notes);
    await logged(rig.store, notes);
    assert.deepEqual(
      (await rig.second.attempts(identity)).map(({ number }) => number),
      [0, ...notes.map(({ number }) => number)],
    );
  },
  "S21-bounded: a storm of replays is bounded for each record, and hides none of its runs": async (rig, identity) => {
    await rig.completed(identity, "a");
    const { attemptsPerRecordMax, attemptBatchMax } = limits;
    await logged(rig.store, [sampleRun(identity)]);
    const storm = Array.from({ length: 3 * attemptsPerRecordMax }, () => sampleNote(identity));
    for (let at = 0; at < storm.length; at += attemptBatchMax) {
      await logged(rig.store, storm.slice(at, at + attemptBatchMax));
    }
    const last = sampleNote(identity, { outcome: "key_reused" });
    await logged(rig.store, [last]);
    const kept = await rig.second.attempts(identity);
    assert.equal(kept.length, 1 + attemptsPerRecordMax + 1);
    assert.deepEqual([kept[0]?.outcome, kept[1]?.outcome], ["executed", "executed"]);
    assert.equal(kept.at(-1)?.number, last.number);
  },
  "S21-follow: a walk sees every attempt of all records once, in the order of writing, and goes on from its cursor":
    async (rig) => {
      const keys = Array.from({ length: 25 }, (_, index) => `key-${index}`);
      assert.deepEqual((await rig.second.follow({ limit: 10 })).entries, []);
      for (const key of keys) {
        await rig.completed(sampleIdentity(key), key);
        await logged(key.endsWith("3") ? rig.second : rig.store, [sampleNote(sampleIdentity(key))]);
      }
      assert.deepEqual(await followAll(rig, keys.length, 10), keys);
      const [, cursor = assert.fail()] = await keysFollowed(rig, { limit: 100 });
      assert.deepEqual((await keysFollowed(rig, { limit: 100, cursor }))[0], []);
      await logged(rig.store, [sampleNote(sampleIdentity("key-1"))]);
      await rig.eventually("what came later is seen", async () => {
        const [later] = await keysFollowed(rig, { limit: 100, cursor });
        return later.length === 1 && later[0] === "key-1";
      });
    },
  "S21-from: a walk may begin with what was written lately": async (rig) => {
    await logged(rig.store, [sampleNote(sampleIdentity("old"))]);
    await rig.pass(1_500);
    await logged(rig.store, [sampleNote(sampleIdentity("new"))]);
    await rig.eventually("the new one is seen", async () => {
      const [keys] = await keysFollowed(rig, { limit: 10, fromAgoMs: 1_400 });
      assert.ok(!keys.includes("old"));
      return keys.includes("new");
    });
    assert.deepEqual((await keysFollowed(rig, { limit: 10, fromAgoMs: 60_000 }))[0], ["old", "new"]);
  },
  "S21-swept: what was asked of a record goes with it; that of a record which stays, stays": async (rig) => {
    const [gone, held] = [sampleIdentity("gone"), sampleIdentity("held")];
    await rig.completed(gone, "a", { retentionMs: retentionMsShort });
    await rig.suspended(held, "b", { holdReason: "ask" }, { retentionMs: retentionMsShort });
    await logged(rig.store, [
      sampleRun(gone, "one", { keepMs: retentionMsShort }),
      sampleRun(held, "two", { keepMs: retentionMsShort }),
    ]);
    await rig.outliveRetention();
    await rig.sweepUntilGone(gone);
    assert.deepEqual(await rig.second.attempts(gone), []);
    assert.equal((await rig.second.attempts(held)).length, 1);
  },
  "S22-pair: two keys of one caller with the same content are told once, by whichever process ran them": async (
    rig,
  ) => {
    const [first, second, third] = ["a", "b", "c"].map((key) => sampleIdentity(key)) as [Identity, Identity, Identity];
    for (const identity of [first, second, third]) await rig.completed(identity, identity.key);
    processNames.set(rig.second, "api-4:77");
    assert.deepEqual(await logged(rig.store, [sampleRun(first, "x", { agoMs: 5_000 })]), []);
    const [pair, ...none] = await logged(rig.second, [sampleRun(second, "x", { agoMs: 1_000 })]);
    assert.ok(pair !== undefined && none.length === 0);
    assertHas(pair.first, { key: first.key, scopeHash: first.scopeHash, operation: first.operation });
    assertHas(pair.second, { key: second.key, scopeHash: second.scopeHash });
    assert.ok(pair.apartMs >= 3_000 && pair.apartMs <= 24_000, `${pair.apartMs} ms apart`);
    assert.deepEqual(await logged(rig.store, [sampleRun(third, "y")]), [], "other content");
    for (const identity of [first, second]) {
      assert.deepEqual((await rig.second.twins(identity)).map(pairOf), ["a b"]);
    }
    assert.deepEqual(await rig.second.twins(third), []);
    await rig.eventually("the pair is walked over", async () => {
      const { entries } = await rig.second.suspects({ limit: 10 });
      return entries.length === 1;
    });
    const page = await rig.second.suspects({ limit: 10, fromAgoMs: 60_000 });
    assert.deepEqual(page.entries.map(pairOf), ["a b"]);
    assert.deepEqual((await rig.second.suspects({ limit: 10, cursor: page.cursor ?? assert.fail() })).entries, []);
  },
  "S22-bounded: of content that all requests share a few pairs are noted, and the rest is counted": async (rig) => {
    const notes = Array.from({ length: 100 }, (_, index) => sampleRun(sampleIdentity(`key-${index}`), "same"));
    const { pairs, more } = await rig.store.log({ process: "p", notes, suspectWithinMs: 60_000 });
    assert.equal(pairs.length, limits.suspectsPerIntentMax);
    assert.equal(pairs.length + more, notes.length - 1);
  },
  "S22-order: what ran first is told by its time, in whatever order batches come": async (rig) => {
    const [early, late] = [sampleIdentity("early"), sampleIdentity("late")];
    await rig.completed(early, "early");
    await rig.completed(late, "late");
    await logged(rig.store, [sampleRun(late, "x", { agoMs: 1_000 })]);
    assert.deepEqual((await logged(rig.store, [sampleRun(early, "x", { agoMs: 30_000 })])).map(pairOf), ["early late"]);
  },
  "S22-not-suspected: another caller, operation or content, the same key, or too far apart: no pair": async (rig) => {
    const identity = sampleIdentity("a", { tenant: "t", principal: "p" });
    await logged(rig.store, [sampleRun(identity, "x", { agoMs: 90_000 })], 600_000);
    for (const parts of [
      { tenant: "t", principal: "q" },
      { tenant: "u", principal: "p" },
      { tenant: "t", principal: "p", operation: "refund" },
    ]) {
      assert.deepEqual(await logged(rig.store, [sampleRun(sampleIdentity("b", parts), "x")], 600_000), []);
    }
    assert.deepEqual(await logged(rig.store, [sampleRun(identity, "x")], 600_000), [], "its own key");
    const other = sampleIdentity("c", { tenant: "t", principal: "p" });
    assert.deepEqual(
      await logged(rig.store, [sampleNote(other, { outcome: "executed" })], 600_000),
      [],
      "no first run",
    );
    assert.deepEqual(await logged(rig.store, [sampleRun(other, "z")], 600_000), [], "other content");
    const late = sampleIdentity("d", { tenant: "t", principal: "q" });
    await logged(rig.store, [sampleRun(sampleIdentity("e", { tenant: "t", principal: "q" }), "w", { agoMs: 20_000 })]);
    assert.deepEqual(await logged(rig.store, [sampleRun(late, "w")], 10_000), [], "too far apart");
    assert.deepEqual(
      await logged(rig.store, [sampleRun(sampleIdentity("f", { tenant: "t", principal: "q" }), "w")], 0),
      [],
      "not asked for",
    );
  },
});
