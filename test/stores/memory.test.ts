import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { isIchidoError, type ClaimRequest, type ClaimResult, type Store } from "ichido";
import { memoryStore, type MemoryStoreOptions } from "ichido/memory";
import {
  fakeClock,
  sampleFingerprint,
  sampleIdentity,
  sampleOwner,
  sampleResponse,
  storeSuite,
  type FakeClock,
} from "ichido/testing";
import { describe, expect, it } from "vitest";

storeSuite(
  { describe, it },
  {
    name: "memory",
    movesClock: true,
    watches: true,
    async open() {
      const clock = fakeClock();
      const store = memoryStore({ nowMs: clock.nowMs });
      return { store, clock: { advanceMs: (ms) => clock.stepWall(ms) }, close: () => store.close() };
    },
  },
);

storeSuite(
  { describe, it },
  {
    name: "memory by the system's clock",
    watches: true,
    async open() {
      const store = memoryStore();
      return { store, close: () => store.close() };
    },
  },
);

const minuteMs = 60_000;

function claim(store: Store, key: string, changes: Partial<ClaimRequest> = {}): Promise<ClaimResult> {
  return store.claim({
    identity: sampleIdentity(key),
    owner: sampleOwner(key),
    fingerprint: sampleFingerprint(),
    leaseMs: 30_000,
    retentionMs: 10 * minuteMs,
    takeover: "lapsed",
    ...changes,
  });
}

async function answer(store: Store, key: string, body: string | Uint8Array = "done"): Promise<void> {
  const result = await claim(store, key);
  if (result.outcome !== "granted") throw new Error(`not granted: ${result.outcome}`);
  const response = sampleResponse({ body });
  await store.complete({ identity: sampleIdentity(key), owner: sampleOwner(key), fence: result.fence, response });
}

async function runEvenly(store: Store, clock: FakeClock, minutes: number): Promise<void> {
  for (let minute = 0; minute < minutes; minute += 1) {
    await store.tick({ intervalMs: minuteMs });
    await clock.advance(minuteMs);
  }
  await store.tick({ intervalMs: minuteMs });
}

describe("memory store: what one caller may take up", () => {
  const of = (principal: string, key: string): Partial<ClaimRequest> => ({
    identity: sampleIdentity(key, { tenant: "acme", principal }),
  });

  async function fill(store: Store, principal: string): Promise<string> {
    for (let index = 0; index < 1_000; index += 1) {
      const key = `${principal}-${index}`;
      const { outcome } = await claim(store, key, of(principal, key));
      if (outcome !== "granted") return outcome;
    }
    return "never refused";
  }

  it("S14 one caller's keys never keep another from its own", async () => {
    const store = memoryStore({ recordsMax: 500 });
    expect(await fill(store, "mallory")).toBe("quota");
    expect((await store.stats()).records).toBe(250);
    expect(await claim(store, "mallory-0", of("mallory", "mallory-0"))).toMatchObject({
      outcome: "granted",
      resent: true,
    });
    expect((await claim(store, "a", of("alice", "a"))).outcome).toBe("granted");
    expect(await fill(store, "bob")).toBe("full");
  });

  it("S14 the bytes of one caller's answers count likewise", async () => {
    const store = memoryStore({ bytesMax: 100_000 });
    const identity = sampleIdentity("large", { tenant: "acme", principal: "mallory" });
    const first = await claim(store, "large", { identity });
    const fence = first.outcome === "granted" ? first.fence : 0;
    const response = sampleResponse({ body: new Uint8Array(60_000) });
    await store.complete({ identity, owner: sampleOwner("large"), fence, response });
    expect((await claim(store, "next", of("mallory", "next"))).outcome).toBe("quota");
    expect((await claim(store, "a", of("alice", "a"))).outcome).toBe("granted");
  });

  it("S14 a caller's own expired records make room for it, however many of others stand before them", async () => {
    const clock = fakeClock();
    const store = memoryStore({ recordsMax: 200, nowMs: clock.nowMs });
    await store.tick({ intervalMs: minuteMs });
    for (let index = 0; index < 50; index += 1) {
      await claim(store, `other-${index}`, { ...of(`other-${index}`, `other-${index}`), retentionMs: minuteMs });
    }
    expect(await fill(store, "mallory")).toBe("quota");
    await runEvenly(store, clock, 11);
    expect((await claim(store, "again", of("mallory", "again"))).outcome).toBe("granted");
    expect((await claim(store, "a", of("alice", "a"))).outcome).toBe("granted");
  });

  it("S14 scopeShareMax says how much, and keys that all callers share have no such bound", async () => {
    const small = memoryStore({ recordsMax: 100, scopeShareMax: 0.1 });
    expect(await fill(small, "mallory")).toBe("quota");
    expect((await small.stats()).records).toBe(10);
    const shared = memoryStore({ recordsMax: 4 });
    for (let index = 0; index < 4; index += 1) {
      expect((await claim(shared, `key-${index}`)).outcome).toBe("granted");
    }
  });
});

describe("memory store at its bounds", () => {
  it("S14 refuses a new key at recordsMax and leaves no trace of it", async () => {
    const store = memoryStore({ recordsMax: 2 });
    await answer(store, "a");
    await claim(store, "b");
    expect(await claim(store, "c")).toEqual({ outcome: "full" });
    expect(await store.find(sampleIdentity("c"))).toBeUndefined();
    expect((await store.stats()).records).toBe(2);
  });

  it("S14 goes on with the keys it has: replay, mismatch, renewal, completion, takeover", async () => {
    const clock = fakeClock();
    const store = memoryStore({ recordsMax: 3, nowMs: clock.nowMs });
    await answer(store, "a");
    const live = await claim(store, "b");
    await claim(store, "vanished", { leaseMs: 1_000 });
    await clock.advance(2_000);
    expect((await claim(store, "new")).outcome).toBe("full");
    expect((await claim(store, "a")).outcome).toBe("completed");
    expect((await claim(store, "a", { fingerprint: sampleFingerprint("other") })).outcome).toBe("mismatch");
    const held = {
      identity: sampleIdentity("b"),
      owner: sampleOwner("b"),
      fence: live.outcome === "granted" ? live.fence : 0,
    };
    expect(await store.renew([{ ...held, leaseMs: 30_000 }])).toEqual(["ok"]);
    expect(await store.complete({ ...held, response: sampleResponse() })).toBe("ok");
    const taken = await claim(store, "vanished", { owner: sampleOwner("next") });
    expect(taken).toMatchObject({ outcome: "granted", origin: "lapsed" });
  });

  it("S14 refuses a new key once the bytes are used up, but keeps the answer of a key already taken", async () => {
    const store = memoryStore({ bytesMax: 100_000 });
    const taken = await claim(store, "taken");
    await answer(store, "large", new Uint8Array(100_000));
    expect((await claim(store, "new")).outcome).toBe("full");
    const fence = taken.outcome === "granted" ? taken.fence : 0;
    const response = sampleResponse({ body: new Uint8Array(50_000) });
    const owned = { identity: sampleIdentity("taken"), owner: sampleOwner("taken"), fence };
    expect(await store.complete({ ...owned, response })).toBe("ok");
    expect(await claim(store, "taken")).toMatchObject({ outcome: "completed", response: { body: response.body } });
  });

  it("S14 step results, interim answers and labels count as bytes", async () => {
    const bytes = new Uint8Array(60_000);
    const uses: Readonly<Record<string, (store: Store, fence: number) => Promise<unknown>>> = {
      step: (store, fence) => store.finishStep({ ...owned(fence), name: "charge", leaseMs: 30_000, result: bytes }),
      interim: (store, fence) => store.suspend({ ...owned(fence), interim: sampleResponse({ body: bytes }) }),
      answer: (store, fence) => store.complete({ ...owned(fence), response: sampleResponse({ body: bytes }) }),
    };
    const owned = (
      fence: number,
    ): { identity: ReturnType<typeof sampleIdentity>; owner: ReturnType<typeof sampleOwner>; fence: number } => ({
      identity: sampleIdentity("a"),
      owner: sampleOwner("a"),
      fence,
    });
    for (const [what, use] of Object.entries(uses)) {
      const store = memoryStore({ bytesMax: 50_000 });
      const first = await claim(store, "a");
      expect((await claim(store, "b")).outcome, what).toBe("granted");
      await use(store, first.outcome === "granted" ? first.fence : 0);
      expect((await claim(store, "c")).outcome, what).toBe("full");
    }
    const labelled = memoryStore({ bytesMax: 50_000 });
    await claim(labelled, "a", { labels: { note: "x".repeat(60_000) } });
    expect((await claim(labelled, "b")).outcome).toBe("full");
  });

  it("S14 makes room of expired records, and only of those", async () => {
    const clock = fakeClock();
    const store = memoryStore({ recordsMax: 3, nowMs: clock.nowMs });
    await answer(store, "expired");
    const held = await claim(store, "held");
    const fence = held.outcome === "granted" ? held.fence : 0;
    await store.suspend({ identity: sampleIdentity("held"), owner: sampleOwner("held"), fence, holdReason: "ask" });
    await runEvenly(store, clock, 11);
    await answer(store, "fresh");
    expect((await claim(store, "new")).outcome).toBe("granted");
    expect(await store.find(sampleIdentity("expired"))).toBeUndefined();
    expect((await claim(store, "newer")).outcome).toBe("full");
    for (const key of ["held", "fresh", "new"]) expect(await store.find(sampleIdentity(key)), key).toBeDefined();
  });

  it("S10 S14 makes no room while the clock is not trusted", async () => {
    const clock = fakeClock();
    const store = memoryStore({ recordsMax: 1, nowMs: clock.nowMs });
    await answer(store, "a");
    await clock.advance(25 * 60 * minuteMs);
    expect((await claim(store, "b")).outcome).toBe("full");
    expect((await claim(store, "a")).outcome).toBe("completed");
    await runEvenly(store, clock, 3);
    expect((await claim(store, "b")).outcome).toBe("granted");
  });

  it("S14 gives back the bytes of what it removed", async () => {
    const clock = fakeClock();
    const store = memoryStore({ bytesMax: 10_000, nowMs: clock.nowMs });
    for (let life = 0; life < 20; life += 1) {
      await answer(store, `key-${life}`, new Uint8Array(9_500));
      expect((await claim(store, "refused")).outcome).toBe("full");
      await runEvenly(store, clock, 11);
    }
  });

  it("S6 fences grow across removal even when the clock falls back behind the removed record", async () => {
    const clock = fakeClock();
    const store = memoryStore({ nowMs: clock.nowMs });
    const first = await claim(store, "a");
    await runEvenly(store, clock, 11);
    expect(await store.sweep({ limit: 10, budgetMs: 1_000 })).toEqual({ deleted: 1, more: false, guarded: false });
    clock.stepWall(-60 * minuteMs);
    const next = await claim(store, "a", { owner: sampleOwner("b") });
    if (first.outcome !== "granted" || next.outcome !== "granted") throw new Error("not granted");
    expect(next.fence).toBeGreaterThan(first.fence);
  });
});

describe("memory store leases", () => {
  it("S5 a heartbeat that was under way when its owner ended the lease does not revive it", async () => {
    const store = memoryStore();
    const granted = await claim(store, "a");
    const fence = granted.outcome === "granted" ? granted.fence : 0;
    const held = { identity: sampleIdentity("a"), owner: sampleOwner("a"), fence };
    expect(await store.suspend(held)).toBe("ok");
    expect(await store.renew([{ ...held, leaseMs: 30_000 }])).toEqual(["ok"]);
    const next = await claim(store, "a", { owner: sampleOwner("b") });
    expect(next).toMatchObject({ outcome: "granted", origin: "lapsed" });
  });
});

describe("memory store options", () => {
  const wrong: readonly (readonly [string, unknown, RegExp])[] = [
    ["scopeShareMax", 0, /option scopeShareMax: expected a number above 0 and up to 1, got 0/],
    ["scopeShareMax", 1.5, /option scopeShareMax: .* got 1.5/],
    ["scopeShareMax", Number.NaN, /option scopeShareMax: .* got NaN/],
    ["recordsMax", 0, /option recordsMax: expected an integer from 1 to \d+, got 0/],
    ["recordsMax", 1.5, /recordsMax: .* got 1.5/],
    ["recordsMax", "9", /recordsMax: .* got "9"/],
    ["bytesMax", -1, /option bytesMax: expected an integer from 1 to \d+, got -1/],
    ["bytesMax", Number.NaN, /bytesMax: .* got NaN/],
    ["nowMs", 5, /option nowMs: expected a function .* got 5/],
    ["environment", {}, /option environment: expected an object with an `after` function/],
    ["environment", null, /option environment: expected an object .* got null/],
    [
      "maxRecords",
      5,
      /option maxRecords: memoryStore has no such option; it has recordsMax, bytesMax, scopeShareMax, nowMs, environment/,
    ],
  ];
  for (const [name, value, message] of wrong) {
    it(`refuses ${name}: ${String(value)}, naming option, expectation and value`, () => {
      const options = { [name]: value } as MemoryStoreOptions;
      try {
        memoryStore(options);
      } catch (error) {
        expect(isIchidoError(error) && error.code).toBe("option-invalid");
        expect((error as Error).message).toMatch(message);
        return;
      }
      expect.fail("the option was taken");
    });
  }

  it("refuses a clock that does not give a number", async () => {
    const store = memoryStore({ nowMs: () => Number.NaN });
    await expect(claim(store, "a")).rejects.toThrow(/nowMs/);
  });

  it("refuses to join a transaction that it could not be part of", async () => {
    const store = memoryStore();
    const granted = await claim(store, "a");
    const fence = granted.outcome === "granted" ? granted.fence : 0;
    const request = { identity: sampleIdentity("a"), owner: sampleOwner("a"), fence, response: sampleResponse() };
    const handle = { dialect: "postgres", execute: async () => ({ rows: [], affected: 0 }) } as const;
    await expect(store.complete(request, handle)).rejects.toThrow(/cannot join a postgres transaction/);
    expect((await store.find(request.identity))?.state).toBe("processing");
  });

  it("S18 watch ends by its own timers, and all of it when the store is closed", async () => {
    const clock = fakeClock();
    const store = memoryStore({ nowMs: clock.nowMs, environment: clock.environment });
    const woken: string[] = [];
    const watch = async (key: string, timeoutMs: number): Promise<void> => {
      await store.watch?.(sampleIdentity(key), timeoutMs);
      woken.push(key);
    };
    const waits = [watch("a", 1_000), watch("a", 3_000), watch("b", 2_000), watch("c", 60_000)];
    await clock.advance(1_500);
    expect(woken).toEqual(["a"]);
    await clock.advance(1_500);
    expect(woken).toEqual(["a", "b", "a"]);
    await store.close();
    await Promise.all(waits);
    expect(clock.pending).toBe(0);
  });
});

describe("memory store in one process of several", () => {
  const program = `
    import cluster from "node:cluster";
    import { memoryStore } from "ichido/memory";
    if (process.argv[1] === "cluster" && cluster.isPrimary) cluster.fork();
    else {
      for (const store of [memoryStore(), memoryStore()]) await store.tick({ intervalMs: 1_000 });
      if (cluster.isWorker) process.disconnect();
    }
  `;
  async function warnings(env: NodeJS.ProcessEnv, ...args: string[]): Promise<number> {
    const flags = ["--conditions=ichido-source", "--input-type=module", "--eval", program];
    const { pm_id: _id, NODE_APP_INSTANCE: _instance, ...clean } = process.env;
    const cwd = new URL(".", import.meta.url);
    const options = { cwd, env: { ...clean, ...env }, timeout: 60_000 };
    const { stderr } = await promisify(execFile)(process.execPath, [...flags, ...args], options);
    return stderr.split("ICHIDO_MEMORY_STORE_NOT_SHARED").length - 1;
  }

  it("warns once in a cluster worker", async () => expect(await warnings({}, "cluster")).toBe(1));
  it("warns once under PM2", async () => expect(await warnings({ pm_id: "0" })).toBe(1));
  it("warns once under a numbered instance", async () => expect(await warnings({ NODE_APP_INSTANCE: "3" })).toBe(1));
  it("says nothing in a process of its own", async () => expect(await warnings({})).toBe(0));
});

it("a completed record keeps fingerprints of any length, as the contract leaves them", async () => {
  for (const length of [4, 32, 64]) {
    const store = memoryStore();
    const fingerprint = { version: 1, raw: Buffer.alloc(length, 1), canonical: Buffer.alloc(length, 2) };
    const result = await claim(store, "k", { fingerprint });
    if (result.outcome !== "granted") throw new Error(`not granted: ${result.outcome}`);
    const owned = { identity: sampleIdentity("k"), owner: sampleOwner("k"), fence: result.fence };
    await store.complete({ ...owned, response: sampleResponse() });
    const again = await claim(store, "k", { fingerprint, owner: sampleOwner("other") });
    const found = await store.find(sampleIdentity("k"));
    expect([again.outcome, found?.fingerprint.raw.length]).toEqual(["completed", length]);
  }
});
