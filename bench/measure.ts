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

/** A claim as the engine sends it. */
export function sampleRequest(key: string, retentionMs = 86_400_000): Parameters<Store["claim"]>[0] {
  return {
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
    retentionMs,
    takeover: "lapsed",
  };
}

/** The store's verbs as the engine calls them. */
export function storeSubject(name: string, store: Store): Subject {
  const response = {
    kind: "full" as const,
    status: 201,
    headers: [["content-type", "application/json"]] as const,
    body: sampleBody,
  };
  return {
    name,
    async claimAndComplete(key) {
      const asked = sampleRequest(key);
      const claim = await store.claim(asked);
      if (claim.outcome !== "granted") throw new Error(claim.outcome);
      const done = await store.complete({ ...asked, fence: claim.fence, response });
      if (done !== "ok") throw new Error(done);
    },
    async replay(key) {
      const claim = await store.claim(sampleRequest(key));
      if (claim.outcome !== "completed") throw new Error(claim.outcome);
    },
  };
}

interface Scanned {
  scan(cursor: string, match: "MATCH", pattern: string, count: "COUNT", size: number): Promise<[string, string[]]>;
  unlink(...names: string[]): Promise<unknown>;
}

/** Everything of a run on a Redis server that others use as well. */
export async function removeKeys(client: Scanned, prefix: string): Promise<void> {
  let cursor = "0";
  do {
    const [next, names] = await client.scan(cursor, "MATCH", `${prefix}*`, "COUNT", 1_000);
    if (names.length > 0) await client.unlink(...names);
    cursor = next;
  } while (cursor !== "0");
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

/** Another order each time, so that nobody always runs after the same one. */
function shuffled<Each>(values: readonly Each[]): Each[] {
  return values
    .map((value) => ({ value, place: Math.random() }))
    .toSorted((one, other) => one.place - other.place)
    .map(({ value }) => value);
}

export interface Comparison {
  readonly title: string;
  readonly subjects: readonly Subject[];
  /** Name of the hand-written minimum that the others are held against. */
  readonly baseline: string;
  readonly turnMs: number;
  readonly turns?: number;
}

const kinds = ["claim + complete", "replay"] as const;
const crowd = 64;
/** Calls before anything counts: compiled code, full pools, prepared statements. */
const warmCalls = 1_000;
const replayedKeys = 100;

/** Prints every subject's rate and its ratio to the baseline. */
export async function compareStores({ title, subjects, baseline, turnMs, turns = 5 }: Comparison): Promise<void> {
  const replayed = new Map<Subject, string[]>();
  for (const subject of subjects) {
    const keysOf = Array.from({ length: replayedKeys }, newKey);
    replayed.set(subject, keysOf);
    await Promise.all(keysOf.map((key) => subject.claimAndComplete(key)));
    let begun = 0;
    const warm = async (): Promise<void> => {
      while (begun < warmCalls) {
        const key = keysOf[(begun += 1) % replayedKeys] ?? "";
        await subject.claimAndComplete(newKey());
        await subject.replay(key);
      }
    };
    await Promise.all(Array.from({ length: crowd }, warm));
  }
  let calls = 0;
  const operationOf = (subject: Subject, kind: (typeof kinds)[number]) => (): Promise<void> => {
    if (kind === "claim + complete") return subject.claimAndComplete(newKey());
    return subject.replay(replayed.get(subject)?.[(calls += 1) % replayedKeys] ?? "");
  };
  for (const kind of kinds) {
    // Alone, the subjects take turns call by call: whatever else the machine does hits all of them alike.
    const latencies = new Map(subjects.map(({ name }) => [name, [] as number[]]));
    const endMs = performance.now() + turnMs * turns * subjects.length;
    while (performance.now() < endMs) {
      for (const subject of shuffled(subjects)) {
        const startMs = performance.now();
        await operationOf(subject, kind)();
        latencies.get(subject.name)?.push(performance.now() - startMs);
      }
    }
    const bare = median(latencies.get(baseline) ?? []);
    const rounds = latencies.get(baseline)?.length ?? 0;
    console.log(`\n${title}: ${kind}, 1 concurrent (median of ${rounds} calls; ratio to ${baseline})`);
    for (const [name, values] of latencies) report(name, 1_000 / median(values), bare / median(values));
  }
  for (const kind of kinds) {
    const rates = new Map(subjects.map(({ name }) => [name, [] as number[]]));
    for (let turn = 0; turn < turns; turn += 1) {
      for (const subject of shuffled(subjects)) {
        rates.get(subject.name)?.push(await rate(crowd, turnMs, operationOf(subject, kind)));
      }
    }
    console.log(`\n${title}: ${kind}, ${crowd} concurrent (median of ${turns} turns; ratio to ${baseline})`);
    const bare = rates.get(baseline) ?? [];
    for (const [name, values] of rates) {
      report(name, median(values), median(values.map((value, turn) => value / (bare[turn] ?? Number.NaN))));
    }
  }
}

function report(name: string, perSecond: number, ratio: number): void {
  console.log(`  ${name.padEnd(24)} ${perSecond.toFixed(0).padStart(7)}/s   ${ratio.toFixed(2)}`);
}
