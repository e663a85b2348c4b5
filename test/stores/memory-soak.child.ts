/**
 * One million keys against a memory store of fifty thousand records, in a process of its own with a small heap. Prints
 * one JSON line with what happened; `memory-soak.test.ts` judges it.
 */
import { memoryStore } from "ichido/memory";
import type { ClaimResult, Identity, Store } from "ichido";
import { fakeClock } from "../../packages/ichido/src/testing/clock.ts";
import {
  sampleFingerprint,
  sampleIdentity,
  sampleOwner,
  sampleResponse,
} from "../../packages/ichido/src/testing/store-suite/samples.ts";

const keys = 1_000_000;
const recordsMax = 50_000;
const liveEvery = 10;
const samplesTotal = 8;
const body = new Uint8Array(512).fill(7);

const { scopeHash, ...scope } = sampleIdentity("key", { tenant: "soak", principal: "soak" });
const identityOf = (key: string): Identity => ({ ...scope, scopeHash, key: key as Identity["key"] });
const owner = sampleOwner("soak");
const hashes = sampleFingerprint();
const response = sampleResponse({ body });

function claim(store: Store, key: string, retentionMs: number): Promise<ClaimResult> {
  const identity = identityOf(key);
  // Fresh hashes for each request, as a server would have them: shared ones would make a record look cheaper than it is.
  const fingerprint = { version: 1, raw: hashes.raw.slice(), canonical: hashes.canonical.slice() };
  return store.claim({ identity, owner, fingerprint, leaseMs: 30_000, retentionMs, takeover: "lapsed" });
}

/** What one collection leaves for the next, such as bytes of buffers that are freed beside it, is not in use. */
function usedBytes(): number {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 4; round += 1) {
    globalThis.gc?.();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    least = Math.min(least, heapUsed + arrayBuffers);
  }
  return least;
}

/** Long retention: nothing may go, so growth must be refused. */
async function refusal(): Promise<object> {
  const clock = fakeClock();
  const store = memoryStore({ recordsMax, scopeShareMax: 1, nowMs: clock.nowMs });
  const count = { granted: 0, full: 0, replayed: 0, live: 0, wrong: 0 };
  const used: number[] = [];
  const before = usedBytes();
  for (let index = 0; index < keys; index += 1) {
    const key = `00000000-0000-4000-8000-${index.toString(16).padStart(12, "0")}`;
    const result = await claim(store, key, 86_400_000);
    if (result.outcome === "granted") {
      count.granted += 1;
      if (index % liveEvery !== 0)
        await store.complete({ identity: identityOf(key), owner, fence: result.fence, response });
    } else if (result.outcome === "full") count.full += 1;
    else count.wrong += 1;
    if ((index + 1) % (keys / samplesTotal) === 0) used.push(usedBytes());
  }
  const bytesPerRecord = ((used[0] ?? 0) - before) / recordsMax;
  for (let index = 0; index < recordsMax; index += 1) {
    const key = `00000000-0000-4000-8000-${index.toString(16).padStart(12, "0")}`;
    const record = await store.find(identityOf(key));
    if (index % liveEvery === 0) {
      if (record?.state === "processing") count.live += 1;
      continue;
    }
    const replay = await claim(store, key, 86_400_000);
    if (replay.outcome === "completed" && replay.response.body.length === body.length) count.replayed += 1;
  }
  return { ...count, used, bytesPerRecord };
}

/** Short retention and even ticks: expired records make room, so that growth goes on at a constant size. */
async function turnover(): Promise<object> {
  const clock = fakeClock();
  const store = memoryStore({ recordsMax, scopeShareMax: 1, nowMs: clock.nowMs });
  const retentionMs = 40_000;
  const count = { granted: 0, full: 0 };
  const used: number[] = [];
  for (let index = 0; index < keys / 4; index += 1) {
    if (index % 1_000 === 0) {
      await clock.advance(1_000);
      await store.tick({ intervalMs: retentionMs / 4 });
    }
    const key = `10000000-0000-4000-8000-${index.toString(16).padStart(12, "0")}`;
    const result = await claim(store, key, retentionMs);
    if (result.outcome === "granted") {
      count.granted += 1;
      await store.complete({ identity: identityOf(key), owner, fence: result.fence, response });
    } else count.full += 1;
    if ((index + 1) % (keys / 4 / samplesTotal) === 0) used.push(usedBytes());
  }
  const { records } = await store.stats();
  return { ...count, records, used };
}

console.log(JSON.stringify({ keys, recordsMax, refusal: await refusal(), turnover: await turnover() }));
