/**
 * Power cuts, simulated: a real process runs the store on real files while a preloaded library logs every write and sync
 * in order; from that log the test builds what the disk would hold had the power gone at a given moment, opens it with
 * SQLite, and looks for every answer that was given before that moment. `power-cut-disk.ts` states the model. Not
 * simulated: a disk that confirms a sync it did not make, and file systems that lose synced data.
 *
 * The same runs with `synchronous: "normal"` must lose answers, or this test could not see a loss at all.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openSqliteStore } from "ichido/sqlite";
import { sampleFingerprint, sampleIdentity, sampleOwner, spawnChild } from "ichido/testing";
import { afterAll, beforeAll, describe, expect, it, type TestContext } from "vitest";
import {
  afterCut,
  cutsAfterWrites,
  readLog,
  seenAt,
  syncsOf,
  type Chance,
  type Fate,
  type Log,
} from "./power-cut-disk.ts";
import { buildShim, type Shim } from "./power-cut-shim.ts";

const cutsTotal = 40;
const keys = 240;
const callers = 4;

let shim: Shim;
const folders: string[] = [];

beforeAll(() => {
  shim = buildShim();
  if ("folder" in shim) folders.push(shim.folder);
}, 600_000);

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function libraryOr(context: TestContext): string {
  if ("library" in shim) return shim.library;
  const reason = `no simulated power cuts: ${shim.reason}`;
  if (process.env["CI"] === "true" || process.env["REQUIRE_SERVICES"] === "1") throw new Error(reason);
  console.warn(`SKIPPED, ${reason}`);
  return context.skip(reason);
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "ichido-power-cut-"));
  folders.push(folder);
  return folder;
}

function chanceOf(seed: number): Chance {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

interface Run {
  readonly log: Log;
  /** Calls that the store refused, because a sync had failed. */
  readonly failures: number;
}

async function run(library: string, driver: string, synchronous: string, failSyncs = ""): Promise<Run> {
  const folder = temporaryFolder();
  const logPath = join(temporaryFolder(), "log");
  const child = await spawnChild(new URL("power-cut.child.ts", import.meta.url), {
    args: [folder, driver, synchronous, String(keys), String(callers)],
    env: { LD_PRELOAD: library, POWER_CUT_FOLDER: folder, POWER_CUT_LOG: logPath, POWER_CUT_FAIL_SYNC: failSyncs },
    execArgv: ["--conditions=ichido-source", "--disable-warning=ExperimentalWarning"],
  });
  const [, failures] = await child.waitFor(/^finished after (\d+) failures$/, 60_000);
  await child.kill();
  const log = readLog(logPath);
  // Were one kind of write missing from the log, everything below would be about some other disk.
  for (const name of ["ichido.db", "ichido.db-wal", "acks"]) {
    expect(seenAt(log, log.length, name).equals(readFileSync(join(folder, name))), `${name} as logged`).toBe(true);
  }
  return { log, failures: Number(failures) };
}

interface Fact {
  readonly done: "migrated" | "claimed" | "started" | "completed";
  readonly key: string;
  readonly fence: number;
  readonly body: string;
}

/** What callers had been told before the cut. */
function factsAt(log: Log, cut: number): Fact[] {
  const text = seenAt(log, cut, "acks").toString("utf8");
  return text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Fact]));
}

/** The keys of answers that the files after the cut do not bear out. */
async function lostAfter(folder: string, facts: readonly Fact[]): Promise<string[]> {
  const path = join(folder, "ichido.db");
  const database = new DatabaseSync(path);
  expect(database.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
  database.close();
  const store = await openSqliteStore(path);
  const lost: string[] = [];
  try {
    const missing = await store.ping().then(
      () => false,
      (error: { readonly code?: string }) => error.code === "schema-missing",
    );
    if (missing) return facts.map(({ done, key }) => `${done} ${key}`);
    for (const { done, key, fence, body } of facts) {
      if (done === "migrated") continue;
      const identity = sampleIdentity(key);
      const record = await store.find(identity);
      let kept = record !== undefined;
      if (done === "claimed") kept &&= record?.fence === fence;
      if (done === "started") kept &&= (await store.steps(identity)).some(({ name }) => name === "charge");
      if (done === "completed") {
        const [owner, fingerprint] = [sampleOwner("after the cut"), sampleFingerprint()];
        const request = { identity, owner, fingerprint, leaseMs: 30_000, retentionMs: 86_400_000 } as const;
        const result = await store.claim({ ...request, takeover: "none" });
        kept &&= result.outcome === "completed" && Buffer.from(result.response.body).toString("base64") === body;
      }
      if (!kept) lost.push(`${done} ${key}`);
    }
  } finally {
    await store.close();
  }
  return lost;
}

interface Tally {
  readonly facts: number;
  readonly lost: number;
  readonly cutsWithLoss: number;
}

async function cutPower(log: Log, seed: number): Promise<Tally> {
  const chance = chanceOf(seed);
  const [first = 0, ...later] = cutsAfterWrites(log, "acks");
  const fates: readonly Fate[] = ["none", "some", "some", "all"];
  const tally = { facts: 0, lost: 0, cutsWithLoss: 0 };
  for (let round = 0; round < cutsTotal; round += 1) {
    // Half of the cuts right after an answer was given, when the most depends on it; half anywhere.
    const cut =
      round % 2 === 0
        ? (later[Math.floor(chance() * later.length)] ?? log.length)
        : first + Math.floor(chance() * (log.length - first));
    const folder = temporaryFolder();
    afterCut(log, cut, fates[round % fates.length] ?? "some", chance, folder);
    const facts = factsAt(log, cut);
    const lost = await lostAfter(folder, facts);
    rmSync(folder, { recursive: true });
    tally.facts += facts.length;
    tally.lost += lost.length;
    if (lost.length > 0) tally.cutsWithLoss += 1;
  }
  return tally;
}

describe("sqlite: power cuts", () => {
  for (const driver of ["node:sqlite", "better-sqlite3"]) {
    it(`no acknowledged answer is lost in ${cutsTotal} power cuts (${driver})`, async (context) => {
      const { log, failures } = await run(libraryOr(context), driver, "full");
      expect(failures).toBe(0);
      expect(syncsOf(log, "ichido.db").succeeded, "the log was copied back during the run").toBeGreaterThan(3);
      const tally = await cutPower(log, 20_260_101);
      console.log(`power cuts, full, ${driver}:`, JSON.stringify(tally));
      expect(tally.facts).toBeGreaterThan(cutsTotal * 10);
      expect(tally).toMatchObject({ lost: 0, cutsWithLoss: 0 });
    }, 120_000);
  }

  it("a sync that fails refuses the calls it was for; asked again they succeed, and no later power cut undoes them", async (context) => {
    const failing = Array.from({ length: 100 }, (_, index) => 20 + index * 3).join(",");
    const { log, failures } = await run(libraryOr(context), "node:sqlite", "full", failing);
    expect(syncsOf(log, "ichido.db-wal").failed, "commits that failed").toBeGreaterThan(5);
    expect(syncsOf(log, "ichido.db").failed, "copies of the log that failed").toBeGreaterThan(0);
    expect(failures).toBeGreaterThan(5);
    const tally = await cutPower(log, 20_260_102);
    console.log("power cuts, full, failing syncs:", JSON.stringify({ ...tally, failures }));
    expect(tally).toMatchObject({ lost: 0, cutsWithLoss: 0 });
  }, 120_000);

  it("with synchronous: normal the same cuts lose answers, so a loss would be seen", async (context) => {
    const { log } = await run(libraryOr(context), "node:sqlite", "normal");
    const tally = await cutPower(log, 20_260_101);
    console.log("power cuts, normal:", JSON.stringify(tally));
    expect(tally.cutsWithLoss).toBeGreaterThan(0);
  }, 120_000);
});
