/** Claims in a race, and what must have come of them. */
import { randomBytes } from "node:crypto";
import type { ClaimRequest, OwnerToken } from "ichido";
import type { RedisStore } from "ichido/redis";
import {
  sampleFingerprint,
  sampleIdentity,
  sampleResponse,
} from "../../packages/ichido/src/testing/store-suite/samples.ts";

export function request(key: string, changes: Partial<ClaimRequest> = {}): ClaimRequest {
  return {
    identity: sampleIdentity(key),
    owner: randomBytes(16).toString("hex") as OwnerToken,
    fingerprint: sampleFingerprint(),
    leaseMs: 30_000,
    retentionMs: 86_400_000,
    takeover: "lapsed",
    ...changes,
  };
}

export interface Tally {
  readonly granted: Map<string, number>;
  readonly outcomes: Map<string, number>;
}

export function tally(): Tally {
  return { granted: new Map(), outcomes: new Map() };
}

const add = (counts: Map<string, number>, name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1);

/** Claims the key and, when it is granted, completes it with the key as its answer. */
export async function ask(store: RedisStore, key: string, counts: Tally): Promise<void> {
  const asked = request(key);
  const claim = await store.claim(asked);
  add(counts.outcomes, claim.outcome);
  if (claim.outcome === "completed" && Buffer.from(claim.response.body).toString() !== key) {
    throw new Error("an answer of another key");
  }
  if (claim.outcome !== "granted") return;
  add(counts.granted, key);
  const done = await store.complete({ ...asked, fence: claim.fence, response: sampleResponse({ body: key }) });
  if (done !== "ok") throw new Error(done);
}

/** Keys that were granted more than once. */
export function doubles({ granted }: Tally): readonly string[] {
  return [...granted].filter(([, count]) => count > 1).map(([key]) => key);
}
