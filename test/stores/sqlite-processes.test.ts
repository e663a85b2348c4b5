/** Several processes on one file: one winner, one migration, and lock waits that leave the event loop alone. */
import { setTimeout as sleep } from "node:timers/promises";
import { openSqliteStore, sqliteStore } from "ichido/sqlite";
import type { SqliteStore } from "ichido/sqlite";
import { sampleFingerprint, sampleIdentity, sampleOwner, spawnChild } from "ichido/testing";
import type { ClaimRequest } from "ichido";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { drivers, temporaryFile, type OpenDatabase, type TemporaryFile } from "./sqlite-files.ts";

let file: TemporaryFile;
const stores: SqliteStore[] = [];

beforeEach(() => {
  file = temporaryFile();
});

afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
  file.remove();
});

async function open(options: { readonly lockTimeoutMs?: number } = {}): Promise<SqliteStore> {
  const store = await openSqliteStore(file.path, { migrate: true, ...options });
  stores.push(store);
  return store;
}

async function onHandle(database: OpenDatabase): Promise<SqliteStore> {
  const store = sqliteStore(database);
  await store.migrate();
  stores.push({ ...store, close: async () => void database.close() });
  return store;
}

const start = (task: string, ...args: number[]) =>
  spawnChild(new URL("sqlite-process.child.ts", import.meta.url), {
    args: [file.path, task, ...args.map(String)],
    execArgv: ["--conditions=ichido-source", "--disable-warning=ExperimentalWarning"],
  });

function request(key: string): ClaimRequest {
  return {
    identity: sampleIdentity(key),
    owner: sampleOwner(key),
    fingerprint: sampleFingerprint(),
    leaseMs: 30_000,
    retentionMs: 86_400_000,
    takeover: "lapsed",
  };
}

/** Both are up before either is told to go. */
async function startBoth(task: string, ...args: number[]) {
  const children = await Promise.all([start(task, ...args), start(task, ...args)]);
  await Promise.all(children.map((child) => child.waitFor(/^ready$/)));
  for (const child of children) child.write("go");
  return children;
}

describe("sqlite: several processes", () => {
  it("S1 200 keys claimed 8 times by each of two processes at once have one winner each", async () => {
    const keys = 200;
    const claims = 8;
    // One process may be through before the other gets its first turn: such a round proves nothing, and another follows.
    const roundsMax = 10;
    let least = 0;
    for (let round = 1; round <= roundsMax && least === 0; round += 1) {
      if (round > 1) {
        for (const each of stores.splice(0)) await each.close();
        file.remove();
        file = temporaryFile();
      }
      const store = await open();
      const children = await startBoth("race", keys, claims);
      const lines = await Promise.all(children.map((child) => child.waitFor(/^answers (.*)$/, 25_000)));
      const perProcess = lines.map((line) => JSON.parse(line[1] ?? "") as { key: string; outcome: string }[]);
      const answers = perProcess.flat();
      expect(answers).toHaveLength(2 * keys * claims);
      const winners = new Map<string, number>();
      for (const { key, outcome } of answers) {
        expect(["granted", "processing"]).toContain(outcome);
        if (outcome === "granted") winners.set(key, (winners.get(key) ?? 0) + 1);
      }
      expect(winners.size).toBe(keys);
      expect([...winners.values()].every((count) => count === 1)).toBe(true);
      expect(await store.stats()).toMatchObject({ records: keys, processing: keys });
      least = Math.min(...perProcess.map((own) => own.filter(({ outcome }) => outcome === "granted").length));
    }
    expect(least, "both processes won some").toBeGreaterThan(0);
  });

  it("two processes that migrate one new file at once run each migration once", async () => {
    const children = await startBoth("migrate");
    const counts = await Promise.all(
      children.map(async (child) => Number((await child.waitFor(/^migrated (\d+)$/))[1])),
    );
    expect(counts.toSorted((one, other) => one - other)).toEqual([0, 2]);
    expect(await Promise.all(children.map((child) => child.exited))).toMatchObject([{ code: 0 }, { code: 0 }]);
  });

  const handles = {
    "its own handle": () => open(),
    "a node:sqlite handle": () => onHandle(drivers["node:sqlite"](file.path)),
    "a better-sqlite3 handle, which would wait 5 s by itself": () => onHandle(drivers["better-sqlite3"](file.path)),
  };
  it.each(Object.entries(handles))("calls wait for a lock held elsewhere while timers go on: %s", async (_, opened) => {
    const store = await opened();
    await store.ping();
    const holder = await start("hold");
    await holder.waitFor(/^ready$/);
    let beats = 0;
    const heart = setInterval(() => {
      beats += 1;
    }, 10);
    let served = 0;
    const claims = ["a", "b", "c"].map(async (key) => {
      const { outcome } = await store.claim(request(key));
      served += 1;
      return outcome;
    });
    // SQLite's own wait would let no timer through; each of the store's is short, and the loop turns in between.
    await eventually(() => expect(beats).toBeGreaterThanOrEqual(15), 4_000);
    clearInterval(heart);
    expect(served).toBe(0);
    holder.write("go");
    expect(await Promise.all(claims)).toEqual(["granted", "granted", "granted"]);
    await holder.exited;
  });

  it("a lock held past lockTimeoutMs fails the call with store-unavailable, and the next call after it works", async () => {
    const store = await open({ lockTimeoutMs: 200 });
    await store.ping();
    const holder = await start("hold");
    await holder.waitFor(/^ready$/);
    const failure = await store.claim(request("key")).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(failure).toMatchObject({
      code: "store-unavailable",
      status: 503,
      retryable: true,
      message: expect.stringContaining("lockTimeoutMs"),
    });
    await expect(store.ping()).rejects.toMatchObject({ code: "store-unavailable" });
    await holder.kill();
    expect(await store.claim(request("key"))).toMatchObject({ outcome: "granted", origin: "new" });
  });

  it("S18 watch wakes when another process completes the record", async () => {
    const store = await open();
    const other = await open();
    const claim = await other.claim(request("key"));
    if (claim.outcome !== "granted") throw new Error(claim.outcome);
    const { identity, owner } = request("key");
    let woken = false;
    const watching = store.watch?.(identity, 20_000).then(() => {
      woken = true;
    });
    await sleep(60);
    expect(woken).toBe(false);
    await other.release({ identity, owner, fence: claim.fence });
    await watching;
    expect(woken).toBe(true);
  });
});
