/** One caller sends key after key to a bounded store, while others go on: it is refused, and they lose nothing. */
import type { ClaimRequest, ClaimResult, Store } from "../../packages/ichido/src/core/contract/store.ts";
import { memoryStore } from "../../packages/ichido/src/stores/memory/index.ts";
import {
  sampleFingerprint,
  sampleIdentity,
  sampleOwner,
  sampleResponse,
} from "../../packages/ichido/src/testing/store-suite/samples.ts";
import { must, type Random, type Target } from "./target.ts";

const fingerprint = sampleFingerprint();

export function floodRequest(principal: string, key: string): ClaimRequest {
  return {
    identity: sampleIdentity(key, { principal }),
    owner: sampleOwner(principal),
    fingerprint,
    leaseMs: 30_000,
    retentionMs: 86_400_000,
    takeover: "lapsed",
  };
}

async function complete(store: Store, request: ClaimRequest, claimed: ClaimResult, body: string): Promise<void> {
  if (claimed.outcome !== "granted") return;
  const done = await store.complete({ ...request, fence: claimed.fence, response: sampleResponse({ body }) });
  must(done === "ok", "a completion at the bound is not taken", done);
}

/** A small store each time, with bounds of number or of bytes, filled by callers in any order. */
async function attempt(random: Random): Promise<void> {
  const recordsMax = random.int(2, 40);
  const scopeShareMax = random.pick([0.1, 0.5, 0.9, 1]);
  const bytesMax = random.chance(0.3) ? random.int(4_000, 40_000) : 256 * 1_048_576;
  const store = memoryStore({ recordsMax, scopeShareMax, bytesMax });
  const share = Math.ceil(recordsMax * scopeShareMax);
  const callers = ["flooder", "flooder", "flooder", "flooder", "alice", "bob"];
  const granted = new Map<string, number>();
  const kept = new Map<string, ClaimRequest>();
  for (let count = random.int(1, 3 * recordsMax); count > 0; count -= 1) {
    const who = random.pick(callers);
    const request = floodRequest(who, `key-${random.int(0, 99)}`);
    const id = `${who} ${request.identity.key}`;
    const claimed = await store.claim(request);
    const known = kept.has(id);
    const shown = { recordsMax, scopeShareMax, bytesMax, who, outcome: claimed.outcome };
    if (known) {
      must(claimed.outcome === "completed", "a key that was taken is lost", shown);
      must(Buffer.from(claimed.response.body).toString() === id, "another answer", shown);
      continue;
    }
    if (claimed.outcome === "granted") {
      granted.set(who, (granted.get(who) ?? 0) + 1);
      kept.set(id, request);
      must((granted.get(who) ?? 0) <= share && kept.size <= recordsMax, "more than the bound", shown);
      await complete(store, request, claimed, id);
    } else {
      must(claimed.outcome === "quota" || claimed.outcome === "full", "an odd refusal", shown);
      const isAtShare = (granted.get(who) ?? 0) >= share;
      const isBounded = kept.size >= recordsMax || bytesMax < 256 * 1_048_576;
      must(isAtShare || isBounded, "refused though there is room", shown);
      if (claimed.outcome === "full") must(isBounded, "full though it is not", shown);
    }
  }
  for (const [id, request] of kept) {
    const again = await store.claim({ ...request, owner: sampleOwner("later") });
    must(again.outcome === "completed", "a record was dropped to make room", id, again.outcome);
  }
  const { records } = await store.stats();
  must(records === kept.size, "counted otherwise", records, kept.size);
}

export const keyFlood: Target = {
  name: "key-flood",
  promise: "S4 S14 who fills the memory store is refused, and nobody else loses a record or their share",
  inputs: 1_000,
  open: () => ({ attempt }),
};
