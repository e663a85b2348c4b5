/** Turns of one run, alternating between subjects, so that a busy machine is busy for all of them. Read the ratios. */
import { createHash, randomBytes } from "node:crypto";
import type { Store } from "ichido";

export interface Subject {
  readonly name: string;
  claimAndComplete(key: string): Promise<void>;
  replay(key: string): Promise<void>;
}

export const sampleBody = Buffer.from(JSON.stringify({ id: "pay_1", amount: 1_999, note: "x".repeat(400) }));
export const sampleScopeHash = createHash("sha256").update("bench").digest();
export const sampleHash = createHash("sha256").update("content").digest();

let keys = 0;
export const newKey = (): string => `bench-${(keys += 1)}-${randomBytes(8).toString("hex")}`;

type Identity = Parameters<Store["find"]>[0];
type Owner = Parameters<Store["claim"]>[0]["owner"];

/** The store's verbs as the engine calls them. */
export function storeSubject(name: string, store: Store): Subject {
  const response = {
    kind: "full" as const,
    status: 201,
    headers: [["content-type", "application/json"]] as const,
    body: sampleBody,
  };
  const request = (key: string): Parameters<Store["claim"]>[0] => ({
    identity: {
      key: key as Identity["key"],
      scopeHash: sampleScopeHash,
      tenant: "t",
      principal: "p",
      operation: "bench",
    },
    owner: randomBytes(16).toString("hex") as Owner,
    fingerprint: { version: 1, raw: sampleHash, canonical: sampleHash },
    leaseMs: 30_000,
    retentionMs: 86_400_000,
    takeover: "lapsed",
  });
  return {
    name,
    async claimAndComplete(key) {
      const asked = request(key);
      const claim = await store.claim(asked);
      if (claim.outcome !== "granted") throw new Error(claim.outcome);
      const done = await store.complete({ ...asked, fence: claim.fence, response });
      if (done !== "ok") throw new Error(done);
    },
    async replay(key) {
      const claim = await store.claim(request(key));
      if (claim.outcome !== "completed") throw new Error(claim.outcome);
    },
  };
}

/** Operations a second with so many under way at any time. */
export async function rate(concurrent: number, turnMs: number, operation: () => Promise<void>): Promise<number> {
  const start = performance.now();
  let count = 0;
  await Promise.all(
    Array.from({ length: concurrent }, async () => {
      while (performance.now() - start < turnMs) {
        await operation();
        count += 1;
      }
    }),
  );
  return (count * 1_000) / (performance.now() - start);
}

export function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}

export function quantile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** Prints every subject's rate and its ratio to the last one, the hand-written minimum. */
export async function compareStores(
  title: string,
  subjects: readonly Subject[],
  turnMs = 1_500,
  turns = 3,
): Promise<void> {
  for (const concurrent of [1, 64]) {
    for (const what of ["claim + complete", "replay"] as const) {
      const rates = new Map<string, number[]>(subjects.map(({ name }) => [name, []]));
      for (let turn = 0; turn < turns; turn += 1) {
        for (const subject of subjects) {
          const replayed = newKey();
          if (what === "replay") await subject.claimAndComplete(replayed);
          const operation =
            what === "replay" ? () => subject.replay(replayed) : () => subject.claimAndComplete(newKey());
          rates.get(subject.name)?.push(await rate(concurrent, turnMs, operation));
        }
      }
      const medians = subjects.map(({ name }) => median(rates.get(name) ?? []));
      const bare = medians.at(-1) ?? 1;
      const cells = subjects.map(
        ({ name }, index) =>
          `${name} ${(medians[index] ?? 0).toFixed(0)}/s (${((medians[index] ?? 0) / bare).toFixed(2)})`,
      );
      console.log(`${title} ${what}, ${concurrent} concurrent: ${cells.join(", ")}`);
    }
  }
}
